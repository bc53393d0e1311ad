import { expect, setDefaultTimeout, test } from "bun:test";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { skipIfMissing } from "../../servers/require-server.ts";
import { executable } from "../../servers/server-process.ts";
import { gatewayHome, type RunningGateway } from "./running-gateway.ts";

setDefaultTimeout(900_000);

/** What each case of the program's test command did here, by name. */
interface Recorded {
  /** The version that script/lib/servers.sh pins. */
  readonly program: string;
  readonly passes: readonly string[];
  /** Cases that fail, by the reason. */
  readonly fails: Readonly<Record<string, readonly string[]>>;
}

const FILE = join(import.meta.dir, "conformance.json");
const recorded = (await Bun.file(FILE).json()) as Recorded;

const versitygw = executable("versitygw");

/** Runs cases of versitygw's test command. Returns the names of those that passed and of those that failed. */
async function run(
  { endpoint, accessKeyId, secretAccessKey }: RunningGateway,
  folder: string,
  ...names: readonly string[]
): Promise<{ readonly passed: ReadonlySet<string>; readonly failed: ReadonlySet<string> }> {
  const keys = ["--access", accessKeyId, "--secret", secretAccessKey];
  const child = Bun.spawn([versitygw!, "test", ...keys, "--endpoint", endpoint, ...names], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  // It colours the words even if nobody sees it.
  const text = Bun.stripANSI(await new Response(child.stdout).text());
  const namesAfter = (word: string): readonly string[] =>
    Array.from(text.matchAll(new RegExp(String.raw`^${word} +(\w+)`, "gmu")), ([, name]) => name!);
  const failed = new Set(namesAfter("FAIL"));
  // Some names stand for several cases.
  return { passed: new Set(namesAfter("PASS").filter((name) => !failed.has(name))), failed };
}

skipIfMissing(versitygw === undefined ? ["versitygw"] : [])("versitygw's test command", () => {
  test("passes every case that has passed before", async () => {
    await using home = await gatewayHome();
    // Some cases expect that signatures of another region are refused.
    await using gateway = await home.serve("--region", "us-east-1", "--no-access-log");
    // Some cases start the program itself, and it has to be there.
    await symlink(versitygw!, home.path("versitygw"));
    const first = await run(gateway, home.folder, "full-flow");
    const all = [...first.passed, ...first.failed];
    const known = [...recorded.passes, ...Object.values(recorded.fails).flat()];
    expect(all.toSorted()).toEqual(known.toSorted());

    const lost: string[] = [];
    for (const name of recorded.passes.filter((each) => first.failed.has(each))) {
      // Some depend on time, and may fail once on a busy machine.
      const { passed } = await run(gateway, home.folder, name);
      if (!passed.has(name)) lost.push(name);
    }
    expect(lost).toEqual([]);
    const won = [...first.passed].filter((name) => !recorded.passes.includes(name));
    if (won.length > 0) console.log(`These pass now; add them to ${FILE}: ${won.join(", ")}`);
  });

  test("is of the version that was recorded", async () => {
    const servers = await Bun.file(join(import.meta.dir, "../../../script/lib/servers.sh")).text();
    const [, version] = /^VERSITYGW_MODULE=\S+@v(\S+)$/mu.exec(servers) ?? [];
    expect(recorded.program).toBe(`versitygw ${version}`);
  });
});

test("the guide has the numbers of what versitygw's test command did", async () => {
  const guide = await Bun.file(join(import.meta.dir, "../../../docs/gateway.md")).text();
  const sum = (wanted: (reason: string) => boolean): number =>
    Object.entries(recorded.fails).reduce(
      (total, [reason, names]) => total + (wanted(reason) ? names.length : 0),
      0,
    );
  const isMissing = (reason: string): boolean => reason.startsWith("not offered: ");
  const hasOtherWords = (reason: string): boolean => reason.startsWith("other words ");
  const [passed, failed] = [recorded.passes.length, sum(() => true)];
  const [missing, words] = [sum(isMissing), sum(hasOtherWords)];
  for (const text of [
    `${recorded.program} has ${passed + failed} cases. ${passed} of them pass, and ${failed} fail:`,
    `${missing} test what the gateway does not offer`,
    `${words} expect other words for the same error`,
    `${failed - missing - words} expect another behavior`,
  ]) {
    expect(guide).toContain(text);
  }
});
