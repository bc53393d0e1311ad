import { decode, borrowed, messageOf, prose } from "./frames.ts";
import { describe, expect, test } from "bun:test";
import { codeOf } from "../../support.ts";
import { spawnSync } from "node:child_process";
import { z } from "zod";

const python = process.env["IDK_REFERENCE_PYTHON"];

/** Frames of one content with every option of the encoders, as lines of JSON. */
const ENCODE = `
import base64, itertools, json, sys
import lz4.frame
from backports import zstd

content = sys.stdin.buffer.read()

def show(enc, name, frame):
    print(json.dumps({"enc": enc, "name": name, "frame": base64.b64encode(frame).decode()}))

for size, linked, block, whole, length, level in itertools.product(
    (4, 5, 6, 7), (False, True), (False, True), (False, True), (False, True), (0, 9)
):
    frame = lz4.frame.compress(
        content, compression_level=level, block_size=size, block_linked=linked,
        content_checksum=whole, block_checksum=block, store_size=length,
    )
    name = f"blocks {size}, linked {linked}, checksums {block} {whole}, length {length}, level {level}"
    show("lz4", name, frame)

P = zstd.CompressionParameter
for level, checksum, length, window in itertools.product((-7, 3, 19), (0, 1), (0, 1), (10, 17, 27)):
    options = {
        P.compression_level: level, P.checksum_flag: checksum,
        P.content_size_flag: length, P.window_log: window,
    }
    name = f"level {level}, checksum {checksum}, length {length}, window 2^{window}"
    show("zstd", name, zstd.compress(content, options=options))
`;

const Frame = z.object({ enc: z.string(), name: z.string(), frame: z.base64() });

function framesOf(content: Uint8Array): z.infer<typeof Frame>[] {
  const run = spawnSync(python!, ["-c", ENCODE], { input: content, maxBuffer: 2 ** 30 });
  if (run.status !== 0) throw run.error ?? new Error(run.stderr.toString());
  const lines = run.stdout.toString().trimEnd().split("\n");
  return lines.map((line) => Frame.parse(JSON.parse(line)));
}

const NAME = "frames of the reference's encoders in Python";

if (python === undefined && process.env["CI"] === undefined) {
  test.skip(`${NAME} (skipped: IDK_REFERENCE_PYTHON is not set)`, () => undefined);
} else {
  describe(NAME, () => {
    test.each<[string, Uint8Array]>([
      ["nothing", new Uint8Array(0)],
      ["a byte", Uint8Array.of(7)],
      ["text and noise", Buffer.concat([prose(150_000), noise(150_000), prose(20_000)])],
    ])(
      "of %s",
      async (_, content) => {
        if (python === undefined) throw new Error("IDK_REFERENCE_PYTHON must be set in CI");
        const frames = framesOf(content);
        expect(frames.length).toBe(4 * 2 ** 4 * 2 + 3 * 2 * 2 * 3);
        for (const { enc, name, frame } of frames) {
          const encoded = new Uint8Array(Buffer.from(frame, "base64"));
          const whole = await decode(enc, borrowed(encoded, [9999, 1]), content.length);
          expect([name, whole.error]).toEqual([name, undefined]);
          expect([name, Buffer.compare(whole.bytes, content)]).toEqual([name, 0]);

          const cut = await decode(enc, encoded.subarray(0, -1), content.length);
          expect([name, codeOf(cut.error), messageOf(cut.error)]).toEqual([
            name,
            "encoding",
            expect.stringContaining("is truncated"),
          ]);
        }
      },
      60_000,
    );
  });
}

/** Bytes without a pattern, the same in each run. */
function noise(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
