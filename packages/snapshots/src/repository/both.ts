/** As `Promise.all`, but if one fails, the other is awaited, so that none of its requests is left behind. */
export async function bothOf<A, B>(a: A, b: B): Promise<[Awaited<A>, Awaited<B>]> {
  const both = [a, b] as const;
  try {
    return await Promise.all(both);
  } finally {
    await Promise.allSettled(both);
  }
}
