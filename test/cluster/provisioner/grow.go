package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// grower raises volumes for claims that ask for more: first the volume's capacity, then the claim's. Each
// step is found from the two objects as they are, so that any of them can be the last before a crash.
type grower struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	disks   *disks
	queue   workqueue.TypedRateLimitingInterface[string]
}

func newGrower(client kubernetes.Interface, claims corelisters.PersistentVolumeClaimLister, volumes corelisters.PersistentVolumeLister, disks *disks) *grower {
	return &grower{client: client, claims: claims, volumes: volumes, disks: disks, queue: workqueue.NewTypedRateLimitingQueue(backOff())}
}

// watch wakes the grower for a claim when the claim or its volume changes.
func (g *grower) watch(claims, volumes cache.SharedInformer) error {
	handler := func(key func(any) string) cache.ResourceEventHandlerFuncs {
		wake := func(object any) {
			if key := key(object); key != "" {
				g.queue.Add(key)
			}
		}
		return cache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(_, now any) { wake(now) }}
	}
	_, err1 := claims.AddEventHandler(handler(func(object any) string {
		claim, _ := object.(*corev1.PersistentVolumeClaim)
		return claim.Namespace + "/" + claim.Name
	}))
	_, err2 := volumes.AddEventHandler(handler(func(object any) string {
		if v, _ := object.(*corev1.PersistentVolume); v.Spec.ClaimRef != nil {
			return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
		}
		return ""
	}))
	return errors.Join(err1, err2)
}

// run works until the context ends.
func (g *grower) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	go func() {
		<-ctx.Done()
		g.queue.ShutDown()
	}()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for g.next(ctx, logger) {
		}
	}, time.Second)
}

func (g *grower) next(ctx context.Context, logger logr.Logger) bool {
	key, down := g.queue.Get()
	if down {
		return false
	}
	defer g.queue.Done(key)
	err := g.sync(ctx, key)
	switch {
	case err == nil:
		g.queue.Forget(key)
	case apierrors.IsConflict(err): // somebody wrote first: their change wakes us, the queue makes sure
		g.queue.AddRateLimited(key)
	default:
		logger.Info("Claim cannot grow yet", "claim", key, "reason", err)
		g.queue.AddRateLimited(key)
	}
	return true
}

// sync takes the claim's next step. Every write is refused by the API server if the object has changed since
// it was read.
func (g *grower) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	claim, err := g.claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := g.volumes.Get(claim.Spec.VolumeName)
	if apierrors.IsNotFound(err) || (err == nil && !ours(claim, v)) {
		return nil
	}
	if err != nil {
		return err
	}
	asked, size, seen := storage(claim.Spec.Resources.Requests), storage(v.Spec.Capacity), storage(claim.Status.Capacity)
	switch {
	case size.Cmp(asked) < 0:
		if err := g.setCondition(ctx, claim, corev1.PersistentVolumeClaimResizing, "the volume is being made larger"); err != nil {
			return err
		}
		larger := v.DeepCopy()
		larger.Spec.Capacity[corev1.ResourceStorage] = asked
		_, err = g.client.CoreV1().PersistentVolumes().Update(ctx, larger, metav1.UpdateOptions{})
		return err
	case seen.Cmp(size) < 0 || growing(claim):
		return g.finish(ctx, claim, v)
	}
	return nil
}

// ours tells whether the two are bound to each other and the volume was made here.
func ours(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	return claim.Status.Phase == corev1.ClaimBound && claim.DeletionTimestamp == nil &&
		v.Annotations["pv.kubernetes.io/provisioned-by"] == Name && v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == claim.UID
}

// finish shows the volume's size on the claim, once the node is there on which a file system would grow. A
// kubelet that has the volume mounted does the same; whoever comes second finds nothing to do.
func (g *grower) finish(ctx context.Context, claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	if _, err := g.disks.ready(ctx, v.Annotations[annotationNode]); err != nil {
		pending := g.setCondition(ctx, claim, corev1.PersistentVolumeClaimFileSystemResizePending, "waiting for the node to make the file system larger")
		return errors.Join(err, pending)
	}
	done := claim.DeepCopy()
	done.Status.Capacity[corev1.ResourceStorage] = storage(v.Spec.Capacity)
	done.Status.Conditions = slices.DeleteFunc(done.Status.Conditions, isGrowth)
	delete(done.Status.AllocatedResources, corev1.ResourceStorage)
	delete(done.Status.AllocatedResourceStatuses, corev1.ResourceStorage)
	_, err := g.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, done, metav1.UpdateOptions{})
	return err
}

// setCondition makes this the claim's only condition about growth, unless it is there already.
func (g *grower) setCondition(ctx context.Context, claim *corev1.PersistentVolumeClaim, kind corev1.PersistentVolumeClaimConditionType, message string) error {
	isSet := func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	}
	if slices.ContainsFunc(claim.Status.Conditions, isSet) {
		return nil
	}
	changed := claim.DeepCopy()
	changed.Status.Conditions = append(slices.DeleteFunc(changed.Status.Conditions, isGrowth), corev1.PersistentVolumeClaimCondition{
		Type: kind, Status: corev1.ConditionTrue, Message: message, LastTransitionTime: metav1.Now(),
	})
	if _, err := g.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("condition %s: %w", kind, err)
	}
	return nil
}

func growing(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, isGrowth)
}

func isGrowth(c corev1.PersistentVolumeClaimCondition) bool {
	return c.Type == corev1.PersistentVolumeClaimResizing || c.Type == corev1.PersistentVolumeClaimFileSystemResizePending
}

func storage(list corev1.ResourceList) resource.Quantity { return list[corev1.ResourceStorage] }
