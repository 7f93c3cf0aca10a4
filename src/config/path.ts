/**
 * Owns the form of a path in the user's settings: `~` is their home directory.
 */
import * as z from "zod/mini";

export const pathSchema = z.string().check(z.regex(/^~?\/[^\0]*$/, "must begin with / or ~/"));
