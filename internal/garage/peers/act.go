package peers

import (
	"context"
	"errors"
	"fmt"
)

// Act carries the orders out and returns what did not come about, each with the member's name. Of is the API of a member.
func Act(ctx context.Context, of func(node string) (API, error), orders []Order) error {
	var errs []error
	for _, order := range orders {
		api, err := of(order.Node)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		connections, err := api.ConnectClusterNodes(ctx, order.To...)
		if err != nil {
			errs = append(errs, err)
		}
		for i, connection := range connections {
			if !connection.Connected {
				errs = append(errs, fmt.Errorf("%s does not connect to %s: %s", order.Node, order.To[i], connection.Problem))
			}
		}
	}
	return errors.Join(errs...)
}
