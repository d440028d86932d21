// Looks again and again whether the page has changed, and shows the new one without touching what a person is writing.

const EVERY_MS = 500;
const live = document.querySelector("#live");
const notice = document.querySelector("#notice");
let shown = null;

/** The folded parts that are open, by their summaries, so that they stay open. */
function openParts() {
  return new Set([...live.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
}

function show(html) {
  const open = openParts();
  live.innerHTML = html;
  for (const summary of live.querySelectorAll("details > summary"))
    if (open.has(summary.textContent)) summary.parentElement.open = true;
}

async function look() {
  try {
    const answer = await fetch(location.pathname, { headers: { accept: "text/fragment" } });
    const html = await answer.text();
    if (answer.ok && html !== shown) {
      if (shown !== null) show(html);
      shown = html;
    }
    notice.hidden = true;
  } catch {
    notice.hidden = false;
  }
  setTimeout(look, EVERY_MS);
}

void look();
