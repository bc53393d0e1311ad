import { shareKeys } from "@idk/snapshots";
import { recipients, flag } from "../../config/settings.ts";
import { command, type Command } from "../../command.ts";
import { count } from "../../output/text.ts";
import { headReports } from "../../snapshots/head-options.ts";
import { openAsOwner, OWNING } from "../../snapshots/open-repository.ts";
import { readersOf } from "../../snapshots/readers.ts";

/** Lets readers that joined later open what new snapshots need of earlier sessions. */
export const repoShare: Command = command(
  { ...OWNING, recipients, acceptRollback: flag },
  async (settings, session) => {
    const { out } = session;
    await using opened = await openAsOwner(settings, session);
    const reports = headReports(settings, session);
    const to = await readersOf(settings.recipients, opened.identities);
    const { chains, sessions, unopened } = await shareKeys(opened.repository, to, reports.options);
    await reports.finish();
    await out.result(
      `shared the keys of ${count(sessions, "session")} in ${count(chains, "name")} with ${count(to.length, "recipient")}`,
      { recipients: to, names: chains, sessions, unopened },
    );
    await out.flush();
    if (unopened > 0) {
      await out.note(
        `idk: your identities do not open ${count(unopened, "session")}: someone who can read them has to share them`,
      );
    }
  },
);
