package main

import "testing"

// A description goes with all its lines, wherever it is below the field, and nothing else does: not the field's own, not one
// beside it, and not a field that is called so.
func TestWithoutDescriptions(t *testing.T) {
	const crd = `properties:
  env:
    description: ours
    items:
      description: |-
        theirs

        in parts
      properties:
        description:
          nullable: true
          description: theirs, of a field
            in two lines
          type: string
      type: object
    type: array
  envoy:
    description: ours, too
    properties:
      env:
        type: string
      other:
        description: ours, beside it
`
	const want = `properties:
  env:
    description: ours
    items:
      properties:
        description:
          nullable: true
          type: string
      type: object
    type: array
  envoy:
    description: ours, too
    properties:
      env:
        type: string
      other:
        description: ours, beside it
`
	if got := withoutDescriptions(crd, []string{"env"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
