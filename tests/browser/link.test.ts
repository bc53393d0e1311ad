import { MiB, testContent } from "../live/content.ts";
import { crc32, deflateSync } from "node:zlib";
import { expect, setDefaultTimeout, test } from "bun:test";
import { missingForLinks, useLinkSite } from "./link-site.ts";
import { skipIfMissing } from "../servers/require-server.ts";

setDefaultTimeout(120_000);

/** One black pixel. */
const PNG = blackPng(1, 1);

/** A PNG with one bit a pixel. */
function blackPng(width: number, height: number): Buffer<ArrayBuffer> {
  const chunk = (type: string, data: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(data.length);
    numbers.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([numbers.subarray(0, 4), body, numbers.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const rows = deflateSync(Buffer.alloc(height * (1 + Math.ceil(width / 8))));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * A JPEG of 9000 × 9000 pixels for browsers, and of one for a reader that takes what follows the restart
 * marker at its start, which has no length, for a segment to skip.
 */
const TWO_SIZES = Buffer.from(
  "ffd8 ffd0 0019 ffc0000b0823282328 01011100 ffda0008010100003f00 ffc0000b0800010001 01011100 ffd9".replaceAll(
    " ",
    "",
  ),
  "hex",
);

skipIfMissing(missingForLinks)("the page that opens links", () => {
  const { site, linkTo, share, openTab, openPage, textOf } = useLinkSite();

  test("says that a link has expired", async () => {
    const link = await linkTo(await site.store.put(new Uint8Array(1000)), 1);
    await Bun.sleep(2500);
    const { status } = await openPage(link);
    expect(await status(/./u)).toBe("This link has expired. Ask the sender for a new one.");
    expect(await textOf("#name")).toBe("This file cannot be opened");
  });

  test("says that a link expired while the page was open", async () => {
    const { page, click, status, download } = await openTab();
    const link = await linkTo(await site.store.put(testContent(9 * MiB, 4).stream()), 10);
    const expired = new Date(Date.now() + 11_500);
    await page.goto(link);
    await page.waitForSelector("#save:not([hidden])");
    await Bun.sleep(expired);
    const saved = download();
    await click("save");
    expect(await status(/expired/u)).toBe("This link has expired. Ask the sender for a new one.");
    expect((await saved).state).toBe("canceled");
  });

  test("says that the key is wrong, that the link is cut, and that there is none", async () => {
    const link = await share("secret");
    const secret = link.split("~").at(-1)!;
    const wrong = secret.startsWith("A") ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
    const { status, page, errors } = await openPage(link.replace(secret, wrong));
    expect(await status(/./u)).toStartWith("The key in this link does not open the file.");
    // A link that is pasted into the same tab.
    await page.goto(link.slice(0, -1));
    expect(await status(/complete/u)).toStartWith("This link is not complete.");
    await page.goto(link);
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("secret");
    await page.evaluate(() => history.replaceState(null, ""));
    await page.reload();
    expect(await status(/./u)).toStartWith("This page opens links to encrypted files.");
    expect(errors()).toEqual([]);
  });

  test("goes back to the link that was open before", async () => {
    const [first, second] = [await share("first"), await share("second")];
    const { page } = await openPage(first);
    const shows = async (text: string): Promise<unknown> =>
      page.waitForFunction(
        (text) => document.getElementById("preview")!.textContent === text,
        { timeout: 20_000 },
        text,
      );
    await shows("first");
    await page.goto(second);
    await shows("second");
    await page.evaluate(() => history.back());
    await shows("first");
  });

  test("says that the server does not respond, and tries again when asked to", async () => {
    const link = await share("back again");
    const { page, status, click } = await openTab();
    await page.setRequestInterception(true);
    let offline = true;
    page.on("request", (request) => {
      const refused = offline && request.url().startsWith(site.bucket.server.endpoint);
      void (refused ? request.abort("connectionrefused") : request.continue());
    });
    await page.goto(link);
    expect(await status(/./u)).toStartWith("The server does not respond, or not as expected.");
    offline = false;
    await click("retry");
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("back again");
  });

  test("shows text as it is, and never as markup", async () => {
    const text =
      "<script>document.title = 'run'</script>\n<img src=x onerror=\"document.title='run'\">";
    const name = `<b>${"long".repeat(40)}</b>.html`;
    const link = await share(text, { name, type: "text/html" });
    const { page, errors } = await openPage(link, 360);
    await page.waitForSelector("#preview pre");
    expect(await textOf("#preview pre")).toBe(text);
    expect(await textOf("#name")).toBe(name);
    expect(await page.title()).toBe("Shared file");
    // Nothing is wider than a phone.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(errors()).toEqual([]);
  });

  test("shows a picture by its bytes, and no picture that can contain script", async () => {
    const { page, errors } = await openPage(await share(PNG, { type: "text/html" }));
    await page.waitForSelector("#preview img");
    expect(await page.$eval("#preview img", ({ naturalWidth }) => naturalWidth)).toBe(1);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`;
    await page.goto(await share(svg, { name: "a.svg", type: "image/svg+xml" }));
    await page.waitForSelector("#preview pre");
    expect(await page.$$eval("#preview img", (images) => images.length)).toBe(0);
    // A longer picture is fetched when asked for.
    const long = Buffer.concat([PNG, Buffer.alloc(2 * MiB)]);
    await page.goto(await share(long, { name: "long.png" }));
    await page.locator("#show").click();
    await page.waitForSelector("#preview img");
    expect(errors()).toEqual([]);
  });

  test("decodes no picture of more than 50 megapixels", async () => {
    const { page, errors } = await openPage(await share(blackPng(8000, 8000)));
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe(
      "This picture is too large to show here: 8,000 × 8,000 pixels. It can be saved.",
    );
    expect(await page.$("#save[hidden]")).toBe(null);
    // One that has another size for the page than for the browser.
    await page.goto(await share(TWO_SIZES));
    await page.waitForFunction("document.body.textContent.includes('9,000 × 9,000')");
    expect(await page.$$eval("#preview img", (images) => images.length)).toBe(0);
    expect(errors()).toEqual([]);
  });

  test("shows nothing of a picture whose size it cannot read", async () => {
    const { page, status } = await openPage(await share(PNG.subarray(0, 20)));
    await page.waitForSelector("#save:not([hidden])");
    const long = Buffer.concat([PNG.subarray(0, 20), Buffer.alloc(2 * MiB)]).fill(0, 12, 20);
    await page.goto(await share(long, { name: "long.png" }));
    await page.locator("#show").click();
    expect(await status(/./u)).toBe(
      "This file is not a picture that can be shown here. It can be saved.",
    );
    expect(await page.$("#preview[hidden]")).not.toBe(null);
  });

  test("opens compressed content", async () => {
    const text = "the same line again and again\n".repeat(10_000);
    const bytes = new TextEncoder().encode(text);
    const link = await linkTo(await site.store.put(bytes, { compression: "lz4" }));
    const { page, errors } = await openPage(link);
    await page.waitForSelector("#preview pre");
    expect(await textOf("#preview pre")).toBe(text);
    expect(errors()).toEqual([]);
  });
});
