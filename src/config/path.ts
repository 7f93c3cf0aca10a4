/**
 * Owns the form of a path in the user's own words: `~` is their home directory.
 */
import * as z from "zod/mini";

export const pathSchema = z.string().check(z.regex(/^~?\/[^\0]*$/, "has to begin with / or ~/"));
