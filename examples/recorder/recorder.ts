/**
 * The recorder of the servers in this folder. It holds public keys only: someone who
 * takes over the machine cannot read what was recorded.
 */
import { createRecorder, type Recorder } from "@idk/recorder";
import { filesystem } from "@idk/storage/filesystem";

/** @param argv folder of the archive, folder of the spool, recipient; and the port, by default 3000 */
export function openRecorder(argv: readonly string[]): { recorder: Recorder; port: number } {
  const [archive = "./archive", spool = "./spool", recipient = "", port = "3000"] = argv;
  const recorder = createRecorder({
    backend: filesystem(archive),
    recipients: [recipient],
    spool,
    // Every failure, and a tenth of everything else.
    keep: ({ status }) => status === 0 || status >= 400 || Math.random() < 0.1,
    redact: [
      { name: "email", action: "hash" },
      { path: "user.notes", route: "/admin/*", action: "drop" },
    ],
    onError: (error) => console.error(error.message),
  });
  return { recorder, port: Number(port) };
}

/** Closes the server, then the recorder, when the process is to end. */
export function closeOnSignals(recorder: Recorder, closeServer: () => Promise<unknown>): void {
  const close = async (): Promise<void> => {
    await closeServer();
    await recorder.close();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void close());
}
