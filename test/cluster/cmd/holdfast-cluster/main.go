//go:build linux

// Command holdfast-cluster brings up, changes and removes Kubernetes clusters of several nodes on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-cluster:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast-cluster",
		Short: "A real Kubernetes with several nodes on this Linux machine",
		Long: "A real Kubernetes " + cluster.KubernetesVersion + ` with several nodes on this Linux machine, without a container
engine or a registry. It needs root. Nothing of the host's links, routes, firewall or sysctls is changed.

Environment:
  HOLDFAST_STATE      the folder for clusters, by default /var/lib/holdfast/clusters
  HOLDFAST_CACHE      the folder for built tools, by default holdfast below the user's cache folder
  HOLDFAST_DIE_AFTER  for tests of the clean-up: the phase of "up" after which the program kills itself with
                      SIGKILL; phases are ` + strings.Join(cluster.Phases(), ", "),
		SilenceUsage: true, SilenceErrors: true,
	}
	name := root.PersistentFlags().String("name", cluster.DefaultName, "the cluster's name")
	root.AddCommand(up(name), down(name), status(name), kubeconfig(name), loadImage(name), node(name))
	return root
}

func up(name *string) *cobra.Command {
	var config cluster.Config
	c := &cobra.Command{
		Use: "up", Args: cobra.NoArgs,
		Short: "Bring the cluster up; what there is of one with the same name is removed first",
		RunE: func(c *cobra.Command, _ []string) error {
			config.Name, config.Progress = *name, c.ErrOrStderr()
			made, err := cluster.Up(c.Context(), config)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Kubernetes %s is up. Next:\n  export KUBECONFIG=%s\n  %s get nodes\n",
				cluster.KubernetesVersion, made.Kubeconfig(), made.Kubectl())
			return nil
		},
	}
	c.Flags().IntVar(&config.Nodes, "nodes", cluster.DefaultNodes, "the number of nodes")
	c.Flags().DurationVar(&config.NodeMonitorGrace, "node-monitor-grace", 0, "how long a node may be silent before it is not ready (default Kubernetes' 50s; at least 4s)")
	c.Flags().StringArrayVar(&config.Images, "image", nil, "an OCI archive to load into every node (repeat for more)")
	return c
}

func down(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "down", Args: cobra.NoArgs,
		Short: "End the cluster and leave nothing of it",
		RunE:  func(c *cobra.Command, _ []string) error { return cluster.Down(c.Context(), *name) },
	}
}

func status(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Show the nodes",
		RunE: withCluster(name, func(c *cobra.Command, opened *cluster.Cluster, _ []string) error {
			nodes, err := opened.Status(c.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Kubernetes %s, kubeconfig %s, logs %s\n", cluster.KubernetesVersion, opened.Kubeconfig(), opened.Logs())
			out := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(out, "NODE\tPOWER\tNETWORK\tREADY\tPID")
			for _, n := range nodes {
				power, network, pid := "off", "-", "-"
				if n.Running {
					power, network, pid = "on", "joined", fmt.Sprint(n.PID)
				}
				if n.Cut != "" {
					network = "cut " + string(n.Cut)
				}
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", n.Name, power, network, n.Ready, pid)
			}
			return out.Flush()
		}),
	}
}

func kubeconfig(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig", Args: cobra.NoArgs,
		Short: "Print the path of the cluster's kubeconfig",
		RunE: withCluster(name, func(c *cobra.Command, opened *cluster.Cluster, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), opened.Kubeconfig())
			return nil
		}),
	}
}

func loadImage(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "load-image ARCHIVE...", Args: cobra.MinimumNArgs(1),
		Short: "Load OCI image archives into every node that is on",
		RunE: withCluster(name, func(c *cobra.Command, opened *cluster.Cluster, archives []string) error {
			for _, archive := range archives {
				if err := opened.LoadImage(c.Context(), archive); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

func node(name *string) *cobra.Command {
	c := &cobra.Command{Use: "node", Short: "Stop, start, kill, cut off or join one node"}
	verb := func(use, short string, do func(*cluster.Cluster, context.Context, string) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " NODE", Short: short, Args: cobra.ExactArgs(1),
			RunE: withCluster(name, func(c *cobra.Command, opened *cluster.Cluster, args []string) error {
				return do(opened, c.Context(), args[0])
			}),
		}
	}
	direction := ""
	cut := verb("cut", "Cut a node off from the network; what runs on it goes on", func(opened *cluster.Cluster, ctx context.Context, node string) error {
		return opened.CutNode(ctx, node, cluster.Direction(direction))
	})
	cut.Flags().StringVar(&direction, "direction", string(cluster.CutBoth), `"in" (nothing reaches it), "out" (nothing comes from it) or "both"`)
	c.AddCommand(
		verb("stop", "Shut a node down cleanly", (*cluster.Cluster).StopNode),
		verb("start", "Start a node that is off", (*cluster.Cluster).StartNode),
		verb("kill", "End everything on a node at once, as a power loss does", (*cluster.Cluster).KillNode),
		cut,
		verb("join", "Undo cut", (*cluster.Cluster).JoinNode),
	)
	return c
}

// commandPatience bounds the commands that work on a cluster that is there.
const commandPatience = 10 * time.Minute

func withCluster(name *string, do func(*cobra.Command, *cluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if os.Geteuid() != 0 {
			return errors.New("run this as root, as the cluster was")
		}
		opened, err := cluster.Open(*name)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.Context(), commandPatience)
		defer cancel()
		c.SetContext(ctx)
		return do(c, opened, args)
	}
}
