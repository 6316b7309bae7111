package run

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Handler serves the endpoint that ledger.Client speaks to: GET /ready and /report, POST /mark?name=, /mark/end
// and /finish. What cannot be done now is 409 with the reason; not ready is 503 with what is waited for.
func (b *Book) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if waiting := b.Ready(); waiting != "" {
			http.Error(w, "waiting for "+waiting, http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /mark", func(w http.ResponseWriter, r *http.Request) {
		conflict(w, b.Mark(r.FormValue("name")))
	})
	mux.HandleFunc("POST /mark/end", func(w http.ResponseWriter, _ *http.Request) {
		conflict(w, b.EndMark())
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		b.answer(w, b.Report())
	})
	mux.HandleFunc("POST /finish", func(w http.ResponseWriter, r *http.Request) {
		report, err := b.Finish(r.Context())
		switch {
		case errors.Is(err, errNotBegun):
			conflict(w, err)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			b.answer(w, report)
		}
	})
	return mux
}

func conflict(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

func (b *Book) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		b.Log.Info("the caller went away", "error", err)
	}
}
