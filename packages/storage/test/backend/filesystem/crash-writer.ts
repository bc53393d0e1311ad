/**
 * Stores blobs until it is killed, four at a time, each under the SHA-256 of its bytes, and prints
 * the name of each one whose `put` has resolved. Arguments: the directory and a seed.
 */
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { filesystem } from "../../../src/backend/filesystem.ts";

const [directory, seed] = process.argv.slice(2);
const backend = filesystem(directory!);

async function write(writer: number): Promise<never> {
  for (let i = 0; ; i++) {
    const bytes = Buffer.alloc(1 + ((i * 77_777) % 2 ** 20), `${seed} ${writer} ${i}`);
    const name = createHash("sha256").update(bytes).digest("hex");
    await backend.put(name, bytes);
    // Again, since replacing must be as safe as creating.
    await backend.put(name, bytes);
    writeSync(1, `${name}\n`);
  }
}

await Promise.all([0, 1, 2, 3].map(write));
