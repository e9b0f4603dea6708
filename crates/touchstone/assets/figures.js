// What draws the figures of a page: each by the function that the page names for its kind in `charts`, and again when the
// width changes.

"use strict";

/** Charts are never narrower than this; the page scrolls them sideways instead. */
const CHART_WIDTH_MIN = 560;

/**
 * On paper charts are drawn this wide and then scaled to fit, so that their text is the size of a footnote.
 */
const CHART_WIDTH_PRINT = 860;

/** What a small chart, two of which stand side by side, has of these widths. */
const SMALL_SHARE = 0.6;

function drawChart(figure, width) {
  if (figure.dataset.width === String(width)) return;
  figure.dataset.width = String(width);
  const plot = figure.querySelector(".plot");
  try {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const svg = charts[figure.dataset.chart](data, width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", figure.getAttribute("aria-label"));
    plot.replaceChildren(svg);
    figure.dataset.drawn = "true";
  } catch (error) {
    const message = document.createElement("p");
    message.className = "error";
    message.textContent = `This chart could not be drawn; its figures stand in the tables. (${error.message})`;
    plot.replaceChildren(message);
    figure.dataset.drawn = "error";
  }
}

function drawCharts(width) {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const share = figure.closest(".small-charts") ? SMALL_SHARE : 1;
    drawChart(figure, width ? width * share : Math.max(CHART_WIDTH_MIN * share, figure.clientWidth));
  }
}

function redrawOnResize() {
  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawCharts(), 150);
  });
}

/** On paper nothing can be opened or scrolled: everything is open, and charts are drawn to fit. */
function prepareForPrint() {
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    drawCharts(CHART_WIDTH_PRINT);
  });
  window.addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    drawCharts();
  });
}
