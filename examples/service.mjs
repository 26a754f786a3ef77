// A session with `hindsight-memory serve` from JavaScript: remember, recall, forget. Needs Node 18.
const service = process.env.HINDSIGHT_URL ?? "http://localhost:8888";
const token = process.env.HINDSIGHT_SERVICE_TOKEN;

async function call(verb, args, operation) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (operation) headers["Idempotency-Key"] = operation; // sent again, it is done once
  const answer = await fetch(`${service}/v1/engine/${verb}`, {
    method: "POST",
    headers,
    body: JSON.stringify(args),
  });
  const content = await answer.json();
  if (answer.ok) return content;
  if (content.error) throw new Error(`${content.error.type}: ${content.error.message}`);
  throw new Error(`${answer.status}: ${content.detail}`);
}

const bank_id = "javascript";
await call(
  "retain_messages",
  {
    bank_id,
    session: "monday",
    messages: [
      { speaker: "user", text: "I moved to Lisbon in May 2023.", timestamp: "2024-05-07T13:56:00Z" },
      { speaker: "assistant", text: "How do you like it?" },
    ],
  },
  crypto.randomUUID(),
);
const recalled = await call("recall", { bank_id, query: "Where does the user live?" });
for (const each of recalled.memories) {
  console.log(`${each.relevance.toFixed(2)} ${each.memory.text}`);
}
await call("banks.delete", { bank_id }, crypto.randomUUID());
try {
  await call("recall", { bank_id, query: "Where?" });
} catch (error) {
  console.log(error.message);
}
