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

const handler = recorder.handler((request: Request) => {
  const { pathname } = new URL(request.url);
  const status = pathname === "/fail" ? 503 : 200;
  return Response.json({ path: pathname, token: "hunter2" }, { status });
});

const answers = [
  handler(new Request("http://a.example/items?access_token=hunter2")),
  handler(new Request("http://a.example/fail", { headers: { cookie: "sid=hunter2" } })),
  handler(new Request("http://a.example/login", { headers: { authorization: "Bearer hunter2" } })),
];
for (const answer of answers) await answer.text();
const isUploaded = await recorder.close();
rmSync(spool, { recursive: true, force: true });
if (!isUploaded) throw new Error("the recorder could not upload everything");
