import { expect, test } from "bun:test";
import { join } from "node:path";
import { PAGE_HEADERS } from "../page/policy.ts";

test("docs/links.md has the headers of the page", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../../docs/links.md")).text();
  const [, block = ""] = /^## The page$.*?^```$(.*?)^```$/msu.exec(text) ?? [];
  const lines = block.trim().split("\n");
  const documented = lines.map((line) => /^([\w-]+): (.*)$/u.exec(line)?.slice(1) ?? []);
  expect(documented.map(([name = "", value]) => [name.toLowerCase(), value])).toEqual(
    Object.entries(PAGE_HEADERS),
  );
});
