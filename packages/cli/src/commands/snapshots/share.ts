import { shareKeys } from "@idk/snapshots";
import { recipients, flag } from "../../config/settings.ts";
import { command, type Command } from "../../command.ts";
import { messageOf } from "../../errors/failures.ts";
import { count, printable } from "../../output/text.ts";
import { headReports } from "../../snapshots/head-options.ts";
import { openAsOwner, OWNING } from "../../snapshots/opening/open-repository.ts";
import { readersOf } from "../../snapshots/opening/readers.ts";

/** Lets readers that joined later open what new snapshots need of earlier sessions. */
export const repoShare: Command = command(
  { ...OWNING, recipients, acceptRollback: flag },
  async (settings, session) => {
    const { out } = session;
    await using opened = await openAsOwner(settings, session);
    const reports = headReports(opened, settings, session);
    const to = await readersOf(settings.recipients, opened.identities);
    const shared = await shareKeys(opened.repository, to, reports.options);
    const { chains, sessions, unopened, unused, skipped } = shared;
    await reports.finish();
    await out.result(
      `shared the keys of ${count(sessions, "session")} in ${count(chains, "name")} with ${count(to.length, "recipient")}`,
      {
        recipients: to,
        names: chains,
        sessions,
        unopened,
        unused,
        skipped: skipped.map(({ found }) => found.marker.address),
      },
    );
    await out.flush();
    for (const { found, error } of skipped) {
      await out.note(
        `idk: warning: snapshot ${found.marker.address.slice(0, 20)} of ${printable(found.head.name)} cannot be ` +
          `read, and an older one was taken: ${messageOf(error)}`,
      );
    }
    if (unused > 0) {
      await out.note(
        `idk: warning: ${count(unused, "session")} left out, of which no pack could be read: run \`idk check\``,
      );
    }
    if (unopened > 0) {
      await out.note(
        `idk: your identities do not open ${count(unopened, "session")}: someone who can read them has to share them`,
      );
    }
  },
);
