// The search page. From disk a browser may not fetch pages, so results come without their extracts.
"use strict";
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
const query = new URLSearchParams(location.search).get("q");
for (const field of document.querySelectorAll("main input[name='q']")) {
  field.value = query || "";
  if (!query) field.focus();
}
