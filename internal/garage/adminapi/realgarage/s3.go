package realgarage

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bucket is a bucket and a key that may do everything with it.
type Bucket struct {
	Name, AccessKey, SecretKey string
}

// NewBucket makes a bucket and a key through one server, whose cluster has a layout. A name has at least three characters.
func NewBucket(ctx context.Context, server *Server, name string) (Bucket, error) {
	var random [44]byte
	_, _ = rand.Read(random[:]) // never fails
	bucket := Bucket{Name: name, AccessKey: "GK" + hex.EncodeToString(random[:12]), SecretKey: hex.EncodeToString(random[12:])}
	var made struct{ ID string }
	for _, step := range []struct {
		endpoint string
		body     func() any
		into     any
	}{
		{"ImportKey", func() any {
			return map[string]string{"name": name, "accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey}
		}, &struct{}{}},
		{"CreateBucket", func() any { return map[string]string{"globalAlias": name} }, &made},
		{"AllowBucketKey", func() any {
			return map[string]any{
				"bucketId": made.ID, "accessKeyId": bucket.AccessKey,
				"permissions": map[string]bool{"read": true, "write": true, "owner": true},
			}
		}, &struct{}{}},
	} {
		if err := post(ctx, server, step.endpoint, step.body(), step.into); err != nil {
			return Bucket{}, fmt.Errorf("make the bucket %s: %w", name, err)
		}
	}
	return bucket, nil
}

// post asks the Admin API for what the product has no call for.
func post(ctx context.Context, server *Server, endpoint string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.Admin+"/v2/"+endpoint, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+Token)
	reply, err := answer(request)
	if err != nil {
		return err
	}
	return json.Unmarshal(reply, into)
}

// Put writes an object through one server.
func (b Bucket) Put(ctx context.Context, server *Server, key string, body []byte) error {
	_, err := b.do(ctx, server, http.MethodPut, key, body)
	return err
}

// Get reads an object through one server.
func (b Bucket) Get(ctx context.Context, server *Server, key string) ([]byte, error) {
	return b.do(ctx, server, http.MethodGet, key, nil)
}

func (b Bucket) do(ctx context.Context, server *Server, method, key string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, server.S3+"/"+b.Name+"/"+key, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	b.sign(request, body, time.Now().UTC())
	return answer(request)
}

// answer is the body of a reply with status 200.
func answer(request *http.Request) ([]byte, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", request.Method, request.URL.Path, response.Status, body)
	}
	return body, err
}

// sign signs a request with AWS Signature Version 4. Keys of objects need no escaping.
func (b Bucket) sign(request *http.Request, body []byte, now time.Time) {
	sum := func(text []byte) string {
		hash := sha256.Sum256(text)
		return hex.EncodeToString(hash[:])
	}
	mac := func(key []byte, text string) []byte {
		hash := hmac.New(sha256.New, key)
		hash.Write([]byte(text))
		return hash.Sum(nil)
	}
	const signed = "host;x-amz-content-sha256;x-amz-date"
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	scope := strings.Join([]string{day, Region, "s3", "aws4_request"}, "/")
	canonical := strings.Join([]string{
		request.Method, request.URL.Path, "",
		"host:" + request.URL.Host, "x-amz-content-sha256:" + sum(body), "x-amz-date:" + stamp, "",
		signed, sum(body),
	}, "\n")
	key := []byte("AWS4" + b.SecretKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, sum([]byte(canonical))}, "\n"))
	request.Header.Set("X-Amz-Date", stamp)
	request.Header.Set("X-Amz-Content-Sha256", sum(body))
	request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		b.AccessKey, scope, signed, signature))
}
