package s3load

import (
	"errors"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// attempts is a retryer that knows what became of every attempt at one write, which may be several requests.
type attempts struct {
	aws.RetryerV2
	failed func(error)
	// doubtful says that one was sent and not answered in a way that says that it was not done.
	doubtful bool
}

// with has a request's attempts noted.
func (a *attempts) with(o *s3.Options) { o.Retryer = a }

// IsErrorRetryable implements aws.Retryer. It is asked once for each attempt that failed.
func (a *attempts) IsErrorRetryable(err error) bool {
	a.failed(err)
	a.note(err)
	return a.RetryerV2.IsErrorRetryable(err)
}

func (a *attempts) note(err error) { a.doubtful = a.doubtful || !refused(err) }

// refused says that a request was not carried out: it could not be sent, or was answered with a 4xx.
func refused(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	status := statusOf(err)
	return status >= 400 && status < 500
}

// statusOf is the status of the answer, 0 when there was none.
func statusOf(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil && response.Response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}
