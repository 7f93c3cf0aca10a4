/**
 * Owns the answer to "is this mine?": does it belong to the user or, for root, to the user who became root by
 * sudo?
 */
export function isOwnUid(uid: number): boolean {
  const own = process.geteuid?.();
  // On a system without users, everything is the user's own.
  if (own === undefined || uid === own) return true;
  return own === 0 && uid === Number(process.env["SUDO_UID"] ?? Number.NaN);
}
