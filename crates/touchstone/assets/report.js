// What the page does: draws its charts, again when the width changes, and sorts the tables of cases.

"use strict";

/** What draws a figure, by the kind it asks for. */
const charts = { ...caseCharts, ...suiteCharts };

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

/** Numbers by size, words by the alphabet; a cell without a value comes last either way. */
function compareValues(one, other, direction) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const numbers = [Number(one), Number(other)];
  const order = numbers.some(Number.isNaN) ? one.localeCompare(other) : numbers[0] - numbers[1];
  return direction === "ascending" ? order : -order;
}

/** Sorts the rows of each case by a column; the case's title stays first. */
function sortTable(table, column, direction) {
  const value = (row) => row.cells[column]?.dataset.value ?? "";
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("title"));
    rows.sort((one, other) => compareValues(value(one), value(other), direction));
    body.append(...rows);
  }
}

/** Figures start with the largest, words with the first of the alphabet. */
function nextDirection(header) {
  const first = header.classList.contains("number") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  return header.getAttribute("aria-sort") === first ? second : first;
}

function makeSortable(table) {
  const headers = [...table.tHead.rows[0].cells];
  for (const header of headers.filter((header) => "sortable" in header.dataset)) {
    header.setAttribute("aria-sort", "none");
    const button = makeButton(header);
    const sort = () => {
      const direction = nextDirection(header);
      for (const other of headers)
        if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", direction);
      sortTable(table, headers.indexOf(header), direction);
    };
    button.addEventListener("click", sort);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
  }
}

/**
 * A span and not a button, because Chromium leaves buttons out of the headings it repeats on each printed
 * page.
 */
function makeButton(header) {
  const button = document.createElement("span");
  button.setAttribute("role", "button");
  button.tabIndex = 0;
  button.append(...header.childNodes);
  header.append(button);
  return button;
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

drawCharts();
redrawOnResize();
document.querySelectorAll("table.cases").forEach(makeSortable);
prepareForPrint();
