/** Files up to this size are as quickly moved again as their parts are looked after. */
const RESUME_MIN = 64 * 2 ** 20;

/** @param choice what `--resume` and `--no-resume` say */
export function isResumed(choice: boolean | undefined, size: number): boolean {
  return choice ?? size > RESUME_MIN;
}
