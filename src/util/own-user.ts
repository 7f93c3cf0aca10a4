/**
 * Owns the answer to "is this mine?": what belongs to the user, or, for root, to the user who became root by sudo.
 */
export function isOwnUid(uid: number): boolean {
  const own = process.geteuid?.();
  // Where there are no users, nothing is another's.
  if (own === undefined || uid === own) return true;
  return own === 0 && uid === Number(process.env["SUDO_UID"] ?? Number.NaN);
}
