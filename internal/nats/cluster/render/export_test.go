package render

import (
	"reflect"
	"strings"
)

// ConfigKeys are the keys that a rendered nats.conf may have, down to the second level.
func ConfigKeys() []string {
	var keys []string
	for name, kind := range fieldsOf(reflect.TypeFor[config]()) {
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() != reflect.Struct {
			keys = append(keys, name)
			continue
		}
		for deeper := range fieldsOf(kind) {
			keys = append(keys, name+"."+deeper)
		}
	}
	return keys
}

func fieldsOf(kind reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
	}
	return fields
}
