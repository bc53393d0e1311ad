import { Xml, keyText, xml, xmlDocument } from "../../src/xml/write.ts";
import { describe, expect, test } from "bun:test";
import { S3Error } from "../../src/errors.ts";
import { XMLParser } from "fast-xml-parser";
import { errorDocument } from "../../src/xml/error-document.ts";
import fc from "fast-check";
import { parseDelete } from "../../src/xml/bodies.ts";

describe("a template", () => {
  test("escapes text, and nothing else", () => {
    const items = ["a", "<b>"].map((text) => xml`<I>${text}</I>`);
    const content = xml`<N>${5}</N><T>${true}</T><M>${undefined}</M>${items}<Q>${`"'&>\r\n\t`}</Q>`;
    expect(content).toBeInstanceOf(Xml);
    expect(content.markup).toBe(
      "<N>5</N><T>true</T><M></M><I>a</I><I>&lt;b&gt;</I><Q>&quot;&apos;&amp;&gt;&#xd;\n\t</Q>",
    );
    expect(xmlDocument("R", content)).toBe(
      `<?xml version="1.0" encoding="UTF-8"?>\n<R xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content.markup}</R>`,
    );
  });

  test("writes references to what XML 1.0 cannot have", () => {
    expect(xml`${"\u0001\u001F\u007F\u0085\uFFFE🦊"}`.markup).toBe(
      "&#x1;&#x1f;&#x7f;&#x85;&#xfffe;🦊",
    );
  });

  test("never lets text become markup", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { markup } = xml`${text}`;
        expect(markup).not.toMatch(/[<>"'\r]|&(?!(?:[a-z]+|#x[0-9a-f]+);)/u);
      }),
    );
  });
});

describe("a key", () => {
  test("is read back as it was", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        const key = Buffer.from(text);
        const url = keyText(key, "url");
        expect(url).toMatch(/^[A-Za-z0-9\-_.~*/%]*$/u);
        expect(decodeURIComponent(url)).toBe(text);
        const markup = xml`<Delete><Object><Key>${keyText(key, undefined)}</Key></Object></Delete>`
          .markup;
        expect(Buffer.from(parseDelete(Buffer.from(markup)).entries[0]!.key).toString()).toBe(text);
      }),
    );
  });

  test("keeps its slashes and a byte order mark", () => {
    expect(keyText(Buffer.from("\uFEFFa b/+(1)'!"), "url")).toBe("%EF%BB%BFa%20b/%2B%281%29%27%21");
    expect(keyText(Buffer.from("\uFEFFa"), undefined)).toBe("\uFEFFa");
  });
});

test("an error document has code, message and details, and not the cause", () => {
  const error = new S3Error("NoSuchKey", undefined, {
    cause: new Error("internal"),
    details: { Key: "<a>&" },
  });
  const document = errorDocument(error, { resource: "/b/<a>", requestId: "1", hostId: "2" });
  expect(document).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>&lt;a&gt;&amp;</Key><Resource>/b/&lt;a&gt;</Resource><RequestId>1</RequestId><HostId>2</HostId></Error>',
  );
  expect(new XMLParser().parse(document)).toMatchObject({ Error: { Key: "<a>&" } });
});
