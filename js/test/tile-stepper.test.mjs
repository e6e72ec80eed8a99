import assert from "node:assert/strict";
import { test } from "node:test";
import { computedTiles, readTile, tileSteps } from "../math/tile-stepper.mjs";
import { sentence, verdict } from "../ui/tile-stepper.mjs";
import { close, golden } from "./golden.mjs";

const SCORES = [1, 2, 0, 1, 5, 0, 2, 3];
/** @param {Partial<import("../math/tile-stepper.mjs").State>} more */
const state = (more) => ({ scores: SCORES, tile: 3, read: 2, causal: false, query: 6, ...more });

test("every step equals core's", () => {
  const cases = golden("tile_stepper");
  assert.ok(cases.length > 150);
  for (const { made: core, ...given } of cases) {
    const made = /** @type {any} */ (tileSteps(given));
    for (const name of ["tiles", "read", "factor", "before", "kept", "added", "after", "mean", "full", "weights", "computed"])
      close(made[name], core[name], `${name} of ${JSON.stringify(given)}`);
    assert.equal(made.inTile, core.in_tile);
  }
});

test("a tile in which nothing may be looked at changes nothing, and makes no NaN", () => {
  const nothing = [-Infinity, 0, 0, 0];
  const one = readTile(nothing, [-Infinity, -Infinity], [[1, 2], [3, 4]]);
  close(one.after, nothing);
  const some = readTile(nothing, [1, 2], [[1, 2], [3, 4]]).after;
  close(readTile(some, [-Infinity], [[5, 6]]).after, some);
});

test("half of the tiles are left, and half a diagonal", () => {
  for (const tile of [1, 2, 4, 8]) {
    const side = 8 / tile;
    assert.equal(computedTiles(tile, true) / computedTiles(tile, false), 1 / 2 + 1 / (2 * side));
  }
});

test("sentences", () => {
  const say = (/** @type {any} */ more) => sentence(state(more), tileSteps(state(more)));
  assert.match(say({ read: 0 }), /^Nothing is read yet/);
  assert.match(say({ read: 1 }), /^Tile 1 of 3, keys 0 to 2: the first tile\./);
  assert.equal(
    say({}),
    "Tile 2 of 3, keys 3 to 5: a larger score, 5 after 2. All that was kept is multiplied by e^(2 − 5) = 0.050.",
  );
  assert.equal(say({ read: 3 }), "Tile 3 of 3, keys 6 to 7: no larger score. m stays 5, and the factor is 1.");
  assert.match(say({ tile: 1, read: 4 }), /^Tile 4 of 8, key 3:/);
  assert.match(say({ scores: [-9, -9, -9, -4.5, 0, 0, 0, 0], tile: 2 }), /e\^\(−9 − \(−4\.50\)\) = 0\.011/);
  assert.match(say({ causal: true, query: 3, tile: 2, read: 8 }), /^Tile 2 of 2/);
  const judged = (/** @type {any} */ more) => verdict(tileSteps(state(more)));
  assert.equal(judged({ read: 3 }), "equal: every tile is read");
  assert.match(judged({}), /^off by 0\.\d\d, 1 tile to read$/);
  assert.match(judged({ read: 0 }), /3 tiles to read$/);
});
