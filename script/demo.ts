/**
 * The program that `script/demo` runs: puts files into a temporary store and gets them back. Exits
 * with 1 if a file comes back changed or the damage goes undetected.
 */
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { basename, join, resolve } from "node:path";
import { createStore, generateIdentity, loadNaCl, StorageError } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { tmpdir } from "node:os";

const MIB = 2 ** 20;

interface Row {
  readonly file: string;
  readonly bytes: number;
  readonly address: string;
  readonly storedBytes: number;
  readonly putSeconds: number;
  readonly getSeconds: number;
  readonly same: boolean;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: MIB }), hash);
  return hash.digest("hex");
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; seconds: number }> {
  const start = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - start) / 1000 };
}

/** The file of a blob: the layout of the filesystem backend is part of its contract. */
function pathOf(blobs: string, address: string): string {
  return join(blobs, address.slice(0, 2), address);
}

async function flipOneBit(path: string): Promise<{ offset: number }> {
  const file = await open(path, "r+");
  try {
    const offset = Math.floor((await file.stat()).size / 2);
    const byte = new Uint8Array(1);
    await file.read(byte, 0, 1, offset);
    byte[0]! ^= 1;
    await file.write(byte, 0, 1, offset);
    return { offset };
  } finally {
    await file.close();
  }
}

function printTable(rows: readonly Row[]): void {
  // The time of a small file is mostly start-up, so its rate means nothing.
  const rate = ({ bytes }: Row, seconds: number) =>
    `${seconds.toFixed(3)} s  ${bytes < 1e6 ? "-" : (bytes / 1e6 / seconds).toFixed(0)} MB/s`;
  const table = [
    ["file", "bytes", "stored", "put", "get", "SHA-256", "address"],
    ...rows.map((row) => [
      row.file,
      row.bytes.toLocaleString("en"),
      row.storedBytes.toLocaleString("en"),
      rate(row, row.putSeconds),
      rate(row, row.getSeconds),
      row.same ? "same" : "DIFFERENT",
      row.address,
    ]),
  ];
  const widths = table[0]!.map((_, i) => Math.max(...table.map((cells) => cells[i]!.length)));
  const leftAligned = new Set([0, 5, 6]);
  for (const cells of table) {
    const padded = cells.map((cell, i) =>
      leftAligned.has(i) ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!),
    );
    console.log(padded.join("  ").trimEnd());
  }
}

/** Rejects anything but regular files before storing any: a folder has no bytes, and a pipe may never end. */
async function checkFiles(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const stats = await stat(file).catch(() => undefined);
    if (stats === undefined) throw new Error(`no such file: ${file}`);
    if (!stats.isFile()) throw new Error(`${file} is not a regular file`);
  }
}

async function main(files: readonly string[]): Promise<boolean> {
  await checkFiles(files);
  const work = await mkdtemp(join(tmpdir(), "idk-demo-"));
  // The files read back are the user's plaintext: delete them however this process ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      rmSync(work, { recursive: true, force: true });
      process.exit(130);
    });
  }
  const blobs = join(work, "blobs");
  try {
    const alice = await generateIdentity();
    const store = createStore({
      backend: filesystem(blobs),
      recipients: [alice.recipient],
      identities: [alice],
    });
    const naCl = await loadNaCl();
    console.log(`Created an identity with the recipient ${alice.recipient}`);
    console.log(`Store: ${blobs}; NaCl: ${naCl.name}\n`);

    const rows: Row[] = [];
    for (const file of files) {
      const { size } = await stat(file);
      const back = join(work, "back");
      const put = await timed(async () =>
        store.put(createReadStream(file, { highWaterMark: MIB }), {
          metadata: { name: basename(file) },
        }),
      );
      const get = await timed(async () => {
        const blob = await store.get(put.result);
        await pipeline(blob.stream(), createWriteStream(back));
      });
      const { storedBytes } = await store.stat(put.result);
      rows.push({
        file: basename(file),
        bytes: size,
        address: put.result,
        storedBytes,
        putSeconds: put.seconds,
        getSeconds: get.seconds,
        same: (await sha256Of(file)) === (await sha256Of(back)),
      });
    }
    printTable(rows);

    const { address, file } = rows.at(-1)!;
    const { offset } = await flipOneBit(pathOf(blobs, address));
    console.log(`\nFlipped one bit of the stored copy of ${file} (byte ${offset} of its root).`);
    const failure = await store.get(address).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(failure instanceof StorageError)) {
      console.log("The damaged copy was read without an error. This is a bug; please report it.");
      return false;
    }
    console.log(`Reading it is refused, code "${failure.code}":\n  ${failure.message}`);
    return rows.every(({ same }) => same);
  } finally {
    await rm(work, { recursive: true });
  }
}

const from = process.env["IDK_DEMO_FROM"] ?? process.cwd();
const given = process.argv.slice(2).map((file) => resolve(from, file));
const files =
  given.length > 0 ? given : [resolve(import.meta.dir, "../README.md"), process.execPath];
try {
  process.exitCode = (await main(files)) ? 0 : 1;
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
