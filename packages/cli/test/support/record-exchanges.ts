import { filesystem } from "@idk/storage/filesystem";
import { createRecorder } from "@idk/recorder";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/*
 * Records some exchanges into a folder, as an application does: `bun record-exchanges.ts FOLDER
 * RECIPIENT`.
 */

const [folder = "", recipient = ""] = process.argv.slice(2);
const spool = mkdtempSync(join(tmpdir(), "idk-recorder-spool-"));
const recorder = createRecorder({
  backend: filesystem(folder, { durability: "none" }),
  recipients: [recipient],
  spool,
  onError: (error) => console.error(error.message),
});

const handler = recorder.handler(async (request: Request) => {
  await request.text();
  const { pathname } = new URL(request.url);
  if (pathname === "/fail") return new Response("out of order", { status: 503 });
  return Response.json({ path: pathname, token: "hunter2" });
});

const answers = [
  await handler(new Request("http://a.example/items?access_token=hunter2")),
  await handler(new Request("http://a.example/fail", { headers: { cookie: "sid=hunter2" } })),
  await handler(
    new Request("http://a.example/login", {
      method: "POST",
      headers: { authorization: "Bearer hunter2", "content-type": "application/json" },
      body: '{"user":"me","password":"hunter2"}',
    }),
  ),
];
for (const answer of answers) await answer.text();
const isUploaded = await recorder.close();
rmSync(spool, { recursive: true, force: true });
if (!isUploaded) throw new Error("the recorder could not upload everything");
