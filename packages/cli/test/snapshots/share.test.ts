import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, newFolder, runIdk } from "../support/cli.ts";

setDefaultTimeout(120_000);

/** The home of someone who uses idk. */
function newHome() {
  const home = newFolder();
  const env = { HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
  const idk = (...args: readonly string[]) => runIdk(args, { cwd: home, env });
  const ok = async (...args: readonly string[]) => {
    const result = await idk(...args);
    expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
    return result.stdout;
  };
  return { home, idk, ok, config: join(home, ".config/idk/config.toml") };
}

test("a colleague reads what is backed up after `idk repo share`, and nothing of before", async () => {
  const owner = newHome();
  await owner.ok("init", "--no-passphrase");
  mkdirSync(join(owner.home, "docs"));
  writeFileSync(join(owner.home, "docs/old"), "stored before the colleague came");
  await owner.ok("backup", "docs", "--name", "docs");

  const colleague = newHome();
  const recipient = (await colleague.ok("keygen", "-o", "own.key")).trim();
  const config = readFileSync(owner.config, "utf8");
  writeFileSync(owner.config, config.replace('recipients = ["', `recipients = ["${recipient}", "`));
  const shown = await owner.ok("repo", "show");
  mkdirSync(join(colleague.home, ".config/idk"), { recursive: true });
  writeFileSync(
    colleague.config,
    `identity = "${join(colleague.home, "own.key")}"\nrecipients = ["${recipient}"]\n` +
      `[store.main]\nurl = "${join(owner.home, ".local/share/idk/store")}"\n\n` +
      shown.slice(shown.indexOf("[store.")),
  );
  expect((await colleague.idk("snapshots")).code).not.toBe(0);

  const shared = JSON.parse(await owner.ok("repo", "share", "--json")) as Record<string, unknown>;
  expect(shared).toMatchObject({ names: 1, sessions: 1, unopened: 0 });
  expect(shared["recipients"]).toHaveLength(2);
  writeFileSync(join(owner.home, "docs/new"), "stored after");
  await owner.ok("backup", "docs", "--name", "docs");

  // The old file lies in a pack of the first session, whose key only the owner could open.
  const cat = (name: string) => colleague.ok("cat", `docs:${join(owner.home, "docs", name)}`);
  expect(await cat("old")).toBe("stored before the colleague came");
  expect(await cat("new")).toBe("stored after");
  const listed = (await colleague.ok("snapshots", "--json")).trim().split("\n");
  expect(listed).toHaveLength(1);
  // What is not for the colleague is no warning.
  const { stderr } = await colleague.idk("snapshots");
  expect(stderr).toMatch(
    /^idk: note: \d+ heads are not for your identities, such as snapshots of before you were added$/mu,
  );
  expect(stderr).not.toContain("warning");
  // Nothing is damaged, and nothing is to be forgotten, because the colleague does not open it.
  const checked = await colleague.idk("check");
  expect(checked.code).toBe(4);
  expect(checked.stdout).toContain(" is not for your identities\n");
  expect(checked.stderr).toMatch(
    /\nidk: check found \d+ records that are not for your identities\n$/u,
  );
  expect(`${checked.stdout}${checked.stderr}`).not.toMatch(/does not count|--refused/u);
  const pruned = await colleague.idk("prune");
  expect(pruned.code).toBe(4);
  expect(pruned.stderr).toContain("are not for your identities, so nothing is deleted");
  expect(pruned.stderr).toMatch(/`idk forget --head [0-9a-f]{20}`\n$/u);
  // Only the owner lets readers in.
  expectFailure(await colleague.idk("repo", "share"), 2, "owner");
});

test("an owner is told of snapshots that a host makes without the owner's recipient", async () => {
  const owner = newHome();
  await owner.ok("init", "--no-passphrase");
  mkdirSync(join(owner.home, "docs"));
  await owner.ok("backup", "docs", "--name", "docs");
  const config = readFileSync(owner.config, "utf8");
  const other = (await owner.ok("keygen", "-o", "other.key")).trim();
  writeFileSync(owner.config, config.replace(/^recipients = .*$/mu, `recipients = ["${other}"]`));
  await owner.ok("backup", "docs", "--name", "docs");
  writeFileSync(owner.config, config);
  // As on another machine than the host.
  rmSync(join(owner.home, ".local/state"), { recursive: true });
  const told = "a host whose `recipients` lack yours makes snapshots that you cannot open";
  const listed = await owner.idk("snapshots");
  expect(listed.stderr).toMatch(/^idk: warning: \d+ heads? (?:is|are) not for your identities/mu);
  for (const command of ["check", "prune"]) {
    const { code, stderr } = await owner.idk(command);
    expect([command, code]).toEqual([command, 4]);
    expect(stderr).toContain(told);
    expect(stderr).toContain("`idk forget --refused`");
  }
  await owner.ok("forget", "--refused");
  await owner.ok("prune");
});
