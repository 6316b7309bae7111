// Package house holds what is true of the repository as a whole: its tests compare the folders with the picture
// in docs/architecture.md, files with their budgets, pages with the constants and verbs they name. It has no
// code of its own.
package house
