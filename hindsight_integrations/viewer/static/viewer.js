// What scripts add: confirmations are shown in a dialog; without this script they are pages of their own. On a narrow
// screen the present page is scrolled into view in the navigation.
"use strict";

const dialog = document.getElementById("dialog");

document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target === dialog && dialog.childElementCount) {
    dialog.showModal();
  }
});

dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest(".cancel")) {
    event.preventDefault();
    dialog.close();
  }
});

dialog.addEventListener("close", () => dialog.replaceChildren());

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
