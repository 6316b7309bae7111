package manager

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Check asks a URL once, and wants 200. It is what a chart's test runs: the image has no other program that could ask.
func Check(ctx context.Context, url string) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
