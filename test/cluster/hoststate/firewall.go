package hoststate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// nftRules reads every table with its chains, rules, sets and their elements. Figures that packets change are
// left out.
func nftRules() (things, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, err
	}
	tables, err := conn.ListTables()
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return things{}, nil // a kernel without nftables has no rules
	}
	if err != nil {
		return nil, err
	}
	found := things{}
	for _, table := range tables {
		found.add("table "+tableName(table), fmt.Sprintf("flags %d", table.Flags))
		if err := nftSets(conn, table, found); err != nil {
			return nil, err
		}
	}
	chains, err := conn.ListChains()
	if err != nil {
		return nil, err
	}
	for _, chain := range chains {
		if err := nftChain(conn, chain, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func tableName(table *nftables.Table) string {
	families := map[nftables.TableFamily]string{
		nftables.TableFamilyINet: "inet", nftables.TableFamilyIPv4: "ip", nftables.TableFamilyIPv6: "ip6",
		nftables.TableFamilyARP: "arp", nftables.TableFamilyNetdev: "netdev", nftables.TableFamilyBridge: "bridge",
	}
	return families[table.Family] + " " + table.Name
}

func nftChain(conn *nftables.Conn, chain *nftables.Chain, found things) error {
	name := "chain " + tableName(chain.Table) + " " + chain.Name
	found.add(name, fmt.Sprintf("type %q hook %s priority %s policy %s device %q",
		chain.Type, show(chain.Hooknum), show(chain.Priority), show(chain.Policy), chain.Device))
	rules, err := conn.GetRules(chain.Table, chain)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, rule := range rules {
		var parts []string
		for _, part := range rule.Exprs {
			if _, counts := part.(*expr.Counter); !counts {
				parts = append(parts, fmt.Sprintf("%s%+v", strings.TrimPrefix(fmt.Sprintf("%T", part), "*expr."), reflect.Indirect(reflect.ValueOf(part)).Interface()))
			}
		}
		found.add(fmt.Sprintf("rule of %s handle %d", name, rule.Handle), strings.Join(parts, " "))
	}
	return nil
}

func nftSets(conn *nftables.Conn, table *nftables.Table, found things) error {
	sets, err := conn.GetSets(table)
	if err != nil {
		return fmt.Errorf("sets of table %s: %w", tableName(table), err)
	}
	for _, set := range sets {
		name := "set " + tableName(table) + " " + set.Name
		found.add(name, fmt.Sprintf("key %s value %s", set.KeyType.Name, set.DataType.Name))
		if set.Dynamic || set.HasTimeout { // packets and time change its elements
			continue
		}
		elements, err := conn.GetSetElements(set)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, element := range elements {
			found.add(fmt.Sprintf("element %x of %s", element.Key, name), fmt.Sprintf("end %x value %x verdict %s", element.KeyEnd, element.Val, show(element.VerdictData)))
		}
	}
	return nil
}

// show prints what a pointer points at: an address would make equal states differ.
func show[T any](value *T) string {
	if value == nil {
		return "none"
	}
	return fmt.Sprintf("%v", *value)
}

var counters = regexp.MustCompile(`\[\d+:\d+\]`)

// xtRules reads the rules of the older iptables where the kernel has any of its tables. Rules that a newer
// iptables made are nftables rules.
func xtRules() (things, error) {
	found := things{}
	for list, commands := range map[string][]string{
		"/proc/thread-self/net/ip_tables_names":  {"iptables-legacy-save", "iptables-save"},
		"/proc/thread-self/net/ip6_tables_names": {"ip6tables-legacy-save", "ip6tables-save"},
	} {
		tables, err := os.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && len(tables) == 0) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for table := range strings.FieldsSeq(string(tables)) {
			found.add(list+" "+table, "")
		}
		if err := saved(commands, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// saved adds the rules that the first of the commands prints that is installed.
func saved(commands []string, found things) error {
	for _, command := range commands {
		path, err := exec.LookPath(command)
		if err != nil {
			continue
		}
		out, err := exec.Command(path).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		for line := range strings.SplitSeq(counters.ReplaceAllString(string(out), ""), "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				found.add(command+" "+line, "")
			}
		}
		return nil
	}
	return nil
}
