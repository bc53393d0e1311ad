import type { Catalog } from "../../catalog/catalog.ts";

/**
 * The catalog as JSON, one object of S3 a line, sorted by bucket and key: what is needed to get the
 * content with `idk get` alone. `roots` are the addresses whose contents, one after the other, are the
 * object.
 */
export async function* exportLines(catalog: Pick<Catalog, "exportRows">): AsyncGenerator<string> {
  const names = new Map<number, string>();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for await (const row of catalog.exportRows()) {
    if (row.type === "bucket") names.set(row.bucket.id, row.bucket.name);
    if (row.type !== "object") continue;
    const { bucket, key, size, etag, time, headers, checksums, tags, kind, root } = row.object;
    const line = {
      bucket: names.get(bucket),
      key: decoder.decode(key),
      size,
      etag,
      modified: new Date(time).toISOString(),
      headers,
      checksums,
      tags: Object.fromEntries(tags),
      identity: root,
      roots: kind === "inline" ? [root] : row.contents.map(({ address }) => address),
    };
    yield `${JSON.stringify(line)}\n`;
  }
}
