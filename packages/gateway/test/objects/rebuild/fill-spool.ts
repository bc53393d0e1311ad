/** Shows what a spool leaves in its folder, adds three rows and reads them twice, as row-spool.test.ts needs it. Usage: bun fill-spool.ts FOLDER */
import { readdir } from "node:fs/promises";
import { createRowSpool } from "../../../src/objects/rebuild/row-spool.ts";

const [, , folder = ""] = process.argv;
const spool = await createRowSpool(folder);
console.log(`${(await readdir(folder)).length} files`);
for (let id = 1; id <= 3; id += 1) {
  const bucket = { id, name: "b".repeat(4000), owner: "", region: "", time: 0 };
  await spool.add({ type: "bucket", bucket });
}
const read = async (): Promise<string> => {
  let count = 0;
  for await (const _ of spool.rows()) count += 1;
  return `${count} rows`;
};
// Again, as a rebuild reads them several times.
for (let times = 0; times < 2; times += 1) {
  console.log(await read().catch((error: Error) => error.message));
}
await spool.close();
