/**
 * Owns the words in which a form that does not fit is described. Forms are written with zod's small edition, which has
 * none of its own: the large one costs every session process several megabytes.
 */
import { config } from "zod/mini";
import en from "zod/v4/locales/en.js";

config(en());
