// A session of Hindsight's JavaScript client with a service: node flow.mjs CLIENT URL BANK
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [name, url, bank] = process.argv.slice(2);
const { HindsightClient } = createRequire(import.meta.url)(name);
const client = new HindsightClient({ baseUrl: url });

const job = "Alice joined Northwind in March 2021 as a designer.";
const bees = "Alice keeps bees on the roof of the town hall.";

await client.createBank(bank, { name: "Ana" });
await client.setMission(bank, "Help Alice.");
const profile = await client.getBankProfile(bank);
assert.deepEqual([profile.name, profile.mission], ["Ana", "Help Alice."]);

const retained = await client.retain(bank, job, {
  documentId: "cv/1",
  tags: ["work"],
  metadata: { source: "cv" },
  timestamp: new Date("2024-05-07T12:00:00Z"),
});
assert.equal(retained.success, true);
const batch = await client.retainBatch(bank, [{ content: bees, tags: ["home"] }], { async: true });
assert.ok(batch.operation_id);

const found = await client.recall(bank, "Where did Alice work in spring 2021?", {
  budget: "high",
  includeEntities: true,
});
assert.equal(found.results[0].text, job);
assert.equal(found.results[0].metadata.source, "cv");
assert.ok(found.entities["Alice"]);

const home = await client.recall(bank, "What does Alice do?", {
  tags: ["home"],
  tagsMatch: "any_strict",
});
assert.deepEqual(home.results.map((each) => each.text), [bees]);

const answer = await client.reflect(bank, "Where does Alice keep bees?", { includeFacts: true });
assert.match(answer.text, /roof of the town hall/);

const listed = await client.listMemories(bank, { limit: 1 });
assert.equal(listed.total, 2);
assert.equal(listed.items[0].text, bees);

const rule = await client.createDirective(bank, "brief", "Be brief.");
assert.equal((await client.listDirectives(bank)).items[0].id, rule.id);
await client.deleteDirective(bank, rule.id);

const model = await client.createMentalModel(bank, "Bees", "Where does Alice keep bees?");
const { items } = await client.listMentalModels(bank);
assert.match(items[0].content, /roof/);
assert.ok(model.operation_id);

if (client.getDocument) {
  const document = await client.getDocument(bank, "cv/1");
  assert.equal(document.original_text, job);
  await client.deleteDocument(bank, "cv/1");
  assert.equal((await client.listMemories(bank)).total, 1);
}
if (client.getKnowledgeBaseTree) {
  await assert.rejects(client.getKnowledgeBaseTree(bank), /no knowledge base here/);
}
await client.deleteBank(bank);
const none = await client.recall(bank, "Where does Alice keep bees?");
assert.deepEqual(none.results, []);
