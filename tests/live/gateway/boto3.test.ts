import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { skipIfMissing } from "../../servers/require-server.ts";
import { missingPython } from "../python/run.ts";
import {
  type GatewayHome,
  gatewayHome,
  type RunningGateway,
  SCHEMES,
  serveOver,
} from "./running-gateway.ts";

setDefaultTimeout(180_000);

const missingCurl = Bun.which("curl") ? [] : ["curl"];

type Urls = Readonly<Record<"put" | "get" | "type" | "expired", string>>;

describe.each(SCHEMES)("over %s", (scheme, missing) => {
  skipIfMissing([...missing, ...missingPython, ...missingCurl])(
    "boto3, and curl with its URLs:",
    () => {
      let home: GatewayHome;
      let gateway: RunningGateway;
      let urls: Readonly<Record<"v4" | "v2", Urls>> | undefined;

      beforeAll(async () => {
        home = await gatewayHome();
        gateway = await serveOver(home, scheme);
      });
      afterAll(async () => {
        await home[Symbol.asyncDispose]();
      });

      /** The status and body of an answer to curl. */
      async function curl(
        ...args: readonly string[]
      ): Promise<readonly [status: string, body: string]> {
        const { certificate } = gateway;
        const trusted = certificate === undefined ? [] : ["--cacert", certificate];
        const command = ["curl", "--silent", "--write-out", "\n%{http_code}", ...trusted, ...args];
        const text = await new Response(Bun.spawn(command, { stdout: "pipe" }).stdout).text();
        const end = text.lastIndexOf("\n");
        return [text.slice(end + 1), text.slice(0, end)];
      }

      test("boto3 stores, reads, copies, lists and deletes", async () => {
        const { endpoint, accessKeyId, secretAccessKey, certificate } = gateway;
        const script = join(import.meta.dir, "boto3-client.py");
        const child = Bun.spawn([process.env["IDK_REFERENCE_PYTHON"]!, script], {
          env: {
            PATH: process.env["PATH"] ?? "",
            HOME: home.folder,
            ENDPOINT: endpoint,
            ACCESS_KEY: accessKeyId,
            SECRET_KEY: secretAccessKey,
            ...(certificate && { AWS_CA_BUNDLE: certificate }),
          },
          stdout: "pipe",
          stderr: "pipe",
        });
        const [stdout, stderr, code] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
          child.exited,
        ]);
        expect([code, stderr]).toEqual([0, ""]);
        urls = JSON.parse(stdout) as typeof urls;
      });

      test.each(["v4", "v2"] as const)(
        "presigned URLs of version %s work once they are valid",
        async (version) => {
          const { put, get, type, expired } = urls![version];
          const content = `content for ${version}`;
          // Without a type: curl's own is not what was signed in version 2.
          expect(
            await curl(
              "--request",
              "PUT",
              "--header",
              "content-type:",
              "--data-binary",
              content,
              put,
            ),
          ).toEqual(["200", ""]);
          expect(await curl(get)).toEqual(["200", content]);
          expect(await curl("--range", "0-6", get)).toEqual(["206", "content"]);
          const [status, answer] = await curl("--include", type);
          expect([status, answer.toLowerCase().includes("content-type: text/z")]).toEqual([
            "200",
            true,
          ]);
          for (const wrong of [
            get.replace("presigned%20", "presigned%21"),
            get.replace(/(?<=Signature=)./u, (first) => (first === "a" ? "b" : "a")),
            `${get}&response-content-type=text/html`,
          ]) {
            expect((await curl(wrong))[0]).toBe("403");
          }
          // A time to live below zero is a fault of its own in version 4.
          expect((await curl(expired))[0]).toBe(version === "v4" ? "400" : "403");
          // It was for a GET.
          expect((await curl("--request", "DELETE", get))[0]).toBe("403");
        },
      );

      test("no request failed inside, and no signature is in the log", async () => {
        await gateway.stop();
        const log = await gateway.log();
        expect(log.filter(({ status }) => Number(status) >= 500 && status !== 501)).toEqual([]);
        expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
        const text = JSON.stringify(log);
        expect(text).toContain("Signature=REDACTED");
        expect(text).not.toMatch(/Signature=(?!REDACTED)/u);
        for (const { get } of Object.values(urls!)) {
          const { searchParams } = new URL(get);
          const signature = searchParams.get("X-Amz-Signature") ?? searchParams.get("Signature")!;
          expect(text).not.toContain(signature);
        }
      });
    },
  );
});
