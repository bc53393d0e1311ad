import { join } from "node:path";

/** Writes `public.crt` and `private.key` for 127.0.0.1 into a folder; needs openssl on the PATH. */
export async function makeCertificate(folder: string): Promise<void> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", join(folder, "private.key"), "-out", join(folder, "public.crt")];
  const run = Bun.spawn(["openssl", "req", "-x509", "-days", "2", ...key, ...subject, ...files], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if ((await run.exited) !== 0) throw new Error(await new Response(run.stderr).text());
}
