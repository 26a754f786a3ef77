// A retain and a recall with what a setup wrote into OpenClaw's configuration: node configured.mjs FILE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { HindsightClient } from "@vectorize-io/hindsight-client";

const written = JSON.parse(readFileSync(process.argv[2], "utf8"));
assert.equal(written.plugins.slots.memory, "hindsight-openclaw");
const { config } = written.plugins.entries["hindsight-openclaw"];
const bank = `${config.bankIdPrefix}-openclaw`;
const bees = "Alice keeps bees on the roof of the town hall.";

const stranger = new HindsightClient({ baseUrl: config.hindsightApiUrl });
await assert.rejects(stranger.retain(bank, bees), /401|token/i);

const client = new HindsightClient({
  baseUrl: config.hindsightApiUrl,
  apiKey: config.hindsightApiToken,
});
assert.equal((await client.retain(bank, bees)).success, true);
const found = await client.recall(bank, "Where are Alice's bees?");
assert.deepEqual(found.results.map((each) => each.text), [bees]);
