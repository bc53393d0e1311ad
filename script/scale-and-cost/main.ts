/**
 * Requests, bytes, time and money for a petabyte or a billion contents. Prints the tables of
 * docs/design.md, or writes them there with --write; a test checks that the document is up to date.
 * With --simulate, writes trees through the library and compares them with the computed numbers.
 *
 * Usage: bun script/scale-and-cost/main.ts [--write | --simulate]
 */
import { join } from "node:path";
import { CHILD_OVERHEAD, FANOUT, INLINE_MAX, REFERENCE_LENGTH } from "@idk/storage/format";
import { type Content, footprint } from "./model.ts";
import { scalingReport, withReport } from "./report.ts";
import { simulate } from "./simulate.ts";

const [mode] = process.argv.slice(2);
if (mode === "--write") {
  const document = Bun.file(join(import.meta.dir, "../../docs/design.md"));
  await document.write(withReport(await document.text(), scalingReport()));
} else if (mode === "--simulate") {
  await compare();
} else {
  console.log(scalingReport());
}

async function compare(): Promise<void> {
  const chunkLog2 = 18;
  const oneLevel = FANOUT * 2 ** chunkLog2;
  const contents: Content[] = [
    ...[4096, INLINE_MAX, INLINE_MAX + 1, 100e6].map((length) => ({ length, chunkLog2 })),
    { length: oneLevel, chunkLog2, pad: false },
    { length: oneLevel + 1, chunkLog2, pad: false },
  ];
  console.log(`each chunk costs ${CHILD_OVERHEAD} bytes, its reference ${REFERENCE_LENGTH}`);
  console.log("content bytes  levels  blobs: computed, written  bytes: computed, written");
  for (const content of contents) {
    const model = footprint(content);
    const written = await simulate(content, content.length < oneLevel);
    const same =
      written.depth === model.depth &&
      written.puts === model.blobs &&
      written.storedBytes === model.storedBytes &&
      written.rootBytes === model.rootBytes &&
      written.rangeGets === model.rangeRequests &&
      (written.wholeGets ?? model.blobs) === model.blobs;
    if (!same) process.exitCode = 1;
    console.log(
      [
        String(content.length).padStart(13),
        String(written.depth).padStart(7),
        `${model.blobs}, ${written.puts}`.padStart(25),
        `${model.storedBytes}, ${written.storedBytes}`.padStart(25),
        same ? " the same" : " DIFFERENT",
      ].join(""),
    );
  }
}
