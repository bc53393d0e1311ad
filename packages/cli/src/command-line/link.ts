import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption } from "./options.ts";

export function addLinkCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("link")
    .summary("share content by a link that opens in a browser")
    .description(
      "Print a link with which anyone can read this content, and nothing else, in a browser: the key " +
        "is behind the # and reaches no server. The store has to be on S3, MinIO or B2, allow the page " +
        "by CORS (`idk store init --cors`), and serve the content until the link expires. A small " +
        "sealed list is stored; remove it with `idk rm` to revoke the link. With --page, write the " +
        "files of the page that opens links instead, for a web server of yours.",
    )
    .argument("[address]", "an address that `idk put` printed, or at least its first 20 digits")
    .option("--expires <period>", "for how long it works: 30m, 36h, at most 7d (default: 7d)")
    .option(
      "--page-url <url>",
      "where the page is: https://HOST/PATH/ (page-url in the configuration)",
    )
    .option("--public <url>", "what precedes the addresses if anyone may read the store; no expiry")
    .option("--page <dir>", "write the files of the page into this folder")
    .option("--force", "with --page: replace files of these names that idk did not write")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/sharing/link.ts")).link));
}
