package images

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// libraries finds what the dynamic linker would load for a program: its interpreter and every shared library
// it needs, however far, by the path at which the linker looks for each. A static program has none.
func libraries(program string) (map[string]string, error) {
	found := map[string]string{}
	defaults := libraryFolders()
	queue := []string{program}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		object, err := readObject(file)
		if err != nil {
			return nil, fmt.Errorf("shared libraries of %s: %w", program, err)
		}
		if object.interpreter != "" {
			found[object.interpreter] = object.interpreter
		}
		folders := append(object.folders, defaults...)
		for _, name := range object.needed {
			library, err := locate(name, folders, object.class)
			if err != nil {
				return nil, fmt.Errorf("shared libraries of %s: %w", program, err)
			}
			if _, known := found[library]; !known {
				found[library] = library
				queue = append(queue, library)
			}
		}
	}
	return found, nil
}

type object struct {
	interpreter     string
	needed, folders []string
	class           elf.Class
}

func readObject(file string) (object, error) {
	f, err := elf.Open(file)
	if err != nil {
		return object{}, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	o := object{class: f.Class}
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP {
			name, err := io.ReadAll(segment.Open())
			if err != nil {
				return object{}, fmt.Errorf("%s: %w", file, err)
			}
			o.interpreter = strings.TrimRight(string(name), "\x00")
		}
	}
	if o.needed, err = f.ImportedLibraries(); err != nil { // a static program has none, which is no error
		return object{}, fmt.Errorf("%s: %w", file, err)
	}
	origin := strings.NewReplacer("$ORIGIN", filepath.Dir(file), "${ORIGIN}", filepath.Dir(file))
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := f.DynString(tag)
		if err != nil {
			return object{}, fmt.Errorf("%s: %w", file, err)
		}
		for _, value := range values {
			o.folders = append(o.folders, filepath.SplitList(origin.Replace(value))...)
		}
	}
	return o, nil
}

func locate(name string, folders []string, class elf.Class) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, folder := range folders {
		file := filepath.Join(folder, name)
		// A folder may hold a library of that name for another word size: the linker passes it over.
		if f, err := elf.Open(file); err == nil {
			same := f.Class == class
			_ = f.Close()
			if same {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s is in none of the linker's folders; install the package that brings it", name)
}

// libraryFolders are those that the linker's configuration names, then those it looks in anyway.
func libraryFolders() []string {
	folders := configuredFolders("/etc/ld.so.conf", 0)
	return append(folders, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

// configuredFolders reads one of the linker's configuration files and those it includes; depth ends a file
// that includes itself.
func configuredFolders(file string, depth int) []string {
	f, err := os.Open(file)
	if err != nil || depth > 4 {
		return nil // the file is optional
	}
	defer f.Close()
	var folders []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		if pattern, isInclude := strings.CutPrefix(line, "include "); isInclude {
			pattern = strings.TrimSpace(pattern)
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(file), pattern)
			}
			included, err := filepath.Glob(pattern)
			if err != nil {
				continue // not a pattern: the linker ignores it too
			}
			for _, other := range included {
				folders = append(folders, configuredFolders(other, depth+1)...)
			}
		} else if line != "" {
			folders = append(folders, line)
		}
	}
	return folders
}
