package render

import (
	"reflect"
	"strings"
)

// ConfigKeys are the keys that a rendered garage.toml may have, each as the tables that it is in, and its name, joined by dots, with
// the kind of its value. Those of a disk are in data_dir.
func ConfigKeys() map[string]reflect.Kind {
	keys := map[string]reflect.Kind{}
	collect("", reflect.TypeFor[config](), keys)
	collect("data_dir.", reflect.TypeFor[dataDir](), keys)
	return keys
}

func collect(prefix string, of reflect.Type, keys map[string]reflect.Kind) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct {
			collect(prefix+name+".", kind, keys)
			continue
		}
		keys[prefix+name] = kind.Kind()
	}
}

// Reserved are the names of variables that users cannot set.
func Reserved() map[string]bool { return reserved }
