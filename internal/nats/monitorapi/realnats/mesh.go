package realnats

import (
	"context"
	"encoding/json"
	"net/http"
)

// RoutesToEach is how many routes two servers keep: a pool of three, and one for the system account alone.
const RoutesToEach = 4

// Meshed says whether the servers with these monitoring URLs have every route to each other. Raft settles as soon as
// its own account's are there; an account whose route comes later loses the replies that should have gone over it, and
// its client waits in vain. So a test makes its streams after this.
func Meshed(ctx context.Context, monitors ...string) bool {
	for _, url := range monitors {
		if routes(ctx, url) != RoutesToEach*(len(monitors)-1) {
			return false
		}
	}
	return true
}

// routes is how many routes a server has, -1 while it does not say.
func routes(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/varz", nil)
	if err != nil {
		return -1
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return -1
	}
	defer response.Body.Close()
	var varz struct {
		Routes int `json:"routes"`
	}
	if err := json.NewDecoder(response.Body).Decode(&varz); err != nil {
		return -1
	}
	return varz.Routes
}
