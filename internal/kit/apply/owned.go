package apply

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// The API server records for each field who set it last. Whoever changes or removes one of our fields takes
// it from us, so "all that was applied is still ours" is the same as "nobody changed it". It is a better
// question than comparing values: defaults of the API server, items that others added to a list and the order
// they put them in raise no alarm, while a changed false, zero or atomic list does.

// owned returns the fields that owner has applied to live, nil when it never has.
func owned(live client.Object, owner string) (*fieldpath.Set, error) {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == owner && entry.Operation == metav1.ManagedFieldsOperationApply {
			return fields(entry)
		}
	}
	return nil, nil
}

// Owns says whether the field under that path of maps is as the Applier set it last, by creation or by apply: nobody has
// changed it since.
func (a *Applier) Owns(live client.Object, path ...string) bool {
	elements := make([]any, 0, len(path))
	for _, name := range path {
		elements = append(elements, name)
	}
	at, err := fieldpath.MakePath(elements...)
	if err != nil {
		return false
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != a.Owner || entry.Subresource != "" {
			continue
		}
		if set, err := fields(entry); err == nil && set.Has(at) {
			return true
		}
	}
	return false
}

func fields(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
	}
	return set, nil
}

// covers says whether set holds every field of a rendered map.
func covers(set *fieldpath.Set, rendered map[string]any) bool {
	for name, field := range rendered {
		if !coversAt(set, fieldpath.FieldNameElement(name), field) {
			return false
		}
	}
	return true
}

// coversAt says whether set holds the rendered value at one path element. A set has members below a map or
// list that merges field by field, and only the element itself for a scalar and for what is replaced whole.
func coversAt(set *fieldpath.Set, at fieldpath.PathElement, rendered any) bool {
	below, merges := set.Children.Get(at)
	if !merges {
		return set.Members.Has(at)
	}
	switch rendered := rendered.(type) {
	case map[string]any:
		return covers(below, rendered)
	case []any:
		for _, item := range rendered {
			if !coversItem(below, item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// coversItem says whether set, which describes a list, holds one rendered item of it.
func coversItem(set *fieldpath.Set, item any) bool {
	found := false
	look := func(at fieldpath.PathElement) {
		found = found || identifies(at, item) && coversAt(set, at, item)
	}
	set.Members.Iterate(look)
	set.Children.Iterate(look)
	return found
}

// identifies says whether a path element of a list stands for the item. A key field that the item leaves out
// is one that the API server defaults (the protocol of a port).
func identifies(at fieldpath.PathElement, item any) bool {
	if at.Key == nil {
		return at.Value != nil && value.Equals(value.NewValueInterface(item), *at.Value)
	}
	object, _ := item.(map[string]any)
	for _, key := range *at.Key {
		if field, set := object[key.Name]; set && !value.Equals(value.NewValueInterface(field), key.Value) {
			return false
		}
	}
	return true
}

// takeOver returns the JSON patch that turns what owner has set by creating live into what owner has applied,
// nil when there is nothing to turn. Without it a field that is not rendered any more would stay for ever:
// the creation would go on owning it. The patch carries live's resourceVersion as precondition.
func takeOver(live client.Object, owner string) ([]byte, error) {
	applied, err := owned(live, owner)
	if err != nil {
		return nil, err
	}
	if applied == nil {
		applied = &fieldpath.Set{}
	}
	entry := metav1.ManagedFieldsEntry{Manager: owner, Operation: metav1.ManagedFieldsOperationApply}
	found := false
	var entries []metav1.ManagedFieldsEntry
	for _, other := range live.GetManagedFields() {
		if other.Manager != owner {
			entries = append(entries, other)
			continue
		}
		entry.APIVersion, entry.FieldsType, entry.Time = other.APIVersion, other.FieldsType, other.Time
		if other.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		created, err := fields(other)
		if err != nil {
			return nil, err
		}
		applied, found = applied.Union(asApplied(created)), true
	}
	if !found {
		return nil, nil
	}
	raw, err := applied.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", owner, err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": append(entries, entry)},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
}

// asApplied turns what a creation owns into what an apply of the same would own: leaves, and the items of lists.
// A creation owns maps too. Such a member would outlive the loss of all that lies below it, and look like a map
// that is replaced whole and still ours; a list's item without its own member could not be removed.
func asApplied(created *fieldpath.Set) *fieldpath.Set {
	applied := created.Leaves()
	created.Iterate(func(path fieldpath.Path) {
		if path[len(path)-1].FieldName == nil {
			applied.Insert(path)
		}
	})
	return applied
}
