// Package controller reconciles GarageClusters together with their GarageNodes: it reads the facts, calls the concerns in
// order and reports ("Additive node-local pools", Decision). What each concern promises, and why that holds after a crash, is
// in the concern's own package.
//
// There is one reconciler for both kinds, and so one writer for each layout: GarageClusters are reconciled one pass at a
// time each, and of several replicas of the controller one leads.
package controller
