package adminapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// An object is a JSON object that is being read. Reading goes on after a mistake, and the first one is kept: so a reader is
// a list of fields, and a reply with any mistake in it is dropped as a whole. Names are compared exactly.
type object struct {
	fields map[string]json.RawMessage
	// whole is the value itself where it is not an object.
	whole json.RawMessage
	// node is the node that the value is about, in the reply of a call about a node.
	node NodeID
	err  *error
}

// decode reads one JSON value.
func decode(text []byte, read func(*object)) error { return decodeValue(text, "", read) }

func decodeValue(text []byte, node NodeID, read func(*object)) error {
	var mistake error
	o := &object{whole: text, node: node, err: &mistake}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("the reply is not JSON: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(whole), []byte("{")) {
		if err := json.Unmarshal(whole, &o.fields); err != nil {
			return err
		}
	}
	read(o)
	return mistake
}

// wrong keeps the first mistake.
func (o *object) wrong(format string, args ...any) {
	if *o.err == nil {
		*o.err = fmt.Errorf(format, args...)
	}
}

// inner is a value inside of this one.
func (o *object) inner(text json.RawMessage, called string) *object {
	i := &object{whole: text, node: o.node, err: o.err}
	if err := json.Unmarshal(text, &i.fields); err != nil || i.fields == nil {
		o.wrong("%s is not an object", called)
	}
	return i
}

func null(text json.RawMessage) bool { return string(bytes.TrimSpace(text)) == "null" }

// as decodes a value that must be one.
func as[T any](o *object, text json.RawMessage, called string) T {
	var value T
	err := json.Unmarshal(text, &value)
	if null(text) {
		err = errors.New("it is null")
	}
	if err != nil {
		o.wrong("%s: %v", called, err)
		var none T
		return none
	}
	return value
}

// need reads a field that every version sends, and that is never null.
func need[T any](o *object, field string) T {
	text, there := o.fields[field]
	if !there {
		o.wrong("the reply lacks %s", field)
		var none T
		return none
	}
	return as[T](o, text, field)
}

// orNull reads a field that every version sends, and for which null has a meaning: then the result is nil.
func orNull[T any](o *object, field string) *T {
	text, there := o.fields[field]
	if !there {
		o.wrong("the reply lacks %s", field)
	}
	if !there || null(text) {
		return nil
	}
	value := as[T](o, text, field)
	return &value
}

// maybe reads a field that some versions do not send, or send as null when they do not know.
func maybe[T any](o *object, field string) fact.Fact[T] {
	text, there := o.fields[field]
	if !there {
		return fact.Unknown[T]("this version of Garage does not say " + field)
	}
	if null(text) {
		return fact.Unknown[T]("the node does not know " + field)
	}
	return fact.Known(as[T](o, text, field))
}

// under reads a field that is an object in every version.
func under[T any](o *object, field string, read func(*object) T) T {
	return read(o.inner(need[json.RawMessage](o, field), field))
}

// underOrNull is under for a field of which null has a meaning: then the result is nil.
func underOrNull[T any](o *object, field string, read func(*object) T) *T {
	text := orNull[json.RawMessage](o, field)
	if text == nil {
		return nil
	}
	value := read(o.inner(*text, field))
	return &value
}

// maybeUnder is maybe for a field that is an object.
func maybeUnder[T any](o *object, field string, read func(*object) T) fact.Fact[T] {
	text, known := maybe[json.RawMessage](o, field).Get()
	if !known {
		return fact.Unknown[T](maybe[json.RawMessage](o, field).Why())
	}
	return fact.Known(read(o.inner(text, field)))
}

// listOf reads a field that is a list of objects.
func listOf[T any](o *object, field string, read func(*object) T) []T {
	return list(o, need[json.RawMessage](o, field), field, read)
}

// list reads a list of objects.
func list[T any](o *object, text json.RawMessage, called string, read func(*object) T) []T {
	values := []T{}
	for i, item := range as[[]json.RawMessage](o, text, called) {
		values = append(values, read(o.inner(item, fmt.Sprintf("%s[%d]", called, i))))
	}
	return values
}

// texts reads a field that is a list of strings in every version.
func texts(o *object, field string) []string {
	values := []string{}
	for _, item := range need[[]*string](o, field) {
		if item == nil {
			o.wrong("%s has a null in it", field)
			continue
		}
		values = append(values, *item)
	}
	return values
}
