/**
 * Owns the words that describe an input of the wrong form. Forms are written with zod's small edition, which
 * has no words of its own: the large one costs every session process several megabytes.
 */
import { config } from "zod/mini";
import en from "zod/v4/locales/en.js";

config(en());
