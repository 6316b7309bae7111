// Command testbox is the program of the pods that tests of the local cluster start: an image without a shell
// needs one that writes, reads and waits.
//
//	testbox write FILE TEXT   append TEXT as a line, print the whole file, then wait for the end
//	testbox read FILE         print the file and exit
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "write":
		if err := add(args[1], args[2]); err != nil {
			return err
		}
		if err := show(args[1]); err != nil {
			return err
		}
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
		<-end
		return nil
	case len(args) == 2 && args[0] == "read":
		return show(args[1])
	}
	return fmt.Errorf("usage: testbox write FILE TEXT | read FILE; not %q", args)
}

func add(file, text string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, text)
	return err
}

func show(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(content)
	return err
}
