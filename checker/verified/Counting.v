(* Two theorems that no evaluation can show: a sequence has at most one answer, so the specification says something;
   and the counting bound, the reason why N log2 C bits are called information. *)
From Coq Require Import ZArith QArith List Lia PeanoNat Bool FinFun.
From Byheart Require Import Spec.
Import ListNotations.

Theorem answers_unique : forall net tokens ys zs, answers net tokens ys -> answers net tokens zs -> ys = zs.
Proof.
  intros net tokens ys zs (_ & _ & _ & L1 & _ & A) (_ & _ & _ & L2 & _ & B).
  assert (L : length ys = length zs) by congruence.
  apply nth_ext with (d := 0%Z) (d' := 0%Z); [exact L|]. intros k Hk.
  destruct (A k Hk) as [_ E]. rewrite L in Hk. destruct (B k Hk) as [_ F]. cbv zeta in E, F. rewrite L in E.
  rewrite E in F. apply (proj1 (inject_Z_injective _ _)) in F. exact F.
Qed.

Open Scope nat_scope.
Fixpoint words {A} (letters : list A) (n : nat) : list (list A) :=
  match n with O => [[]] | S k => flat_map (fun x => map (cons x) (words letters k)) letters end.
Lemma flat_length : forall A B (f : A -> list B) k l, (forall x, length (f x) = k) -> length (flat_map f l) = length l * k.
Proof. intros A B f k l E. induction l; cbn; [reflexivity|]. rewrite app_length, E, IHl. reflexivity. Qed.
Lemma words_length : forall A (l : list A) n, length (words l n) = length l ^ n.
Proof. intros A l. induction n; [reflexivity|]. cbn [words Nat.pow]. apply flat_length. intro. rewrite map_length. exact IHn. Qed.
Lemma words_in : forall A (l : list A) w n, In w (words l n) <-> length w = n /\ forall x, In x w -> In x l.
Proof.
  intros A l w n. revert w. induction n; intro w; cbn [words].
  - split. { intros [<-|[]]. split; [reflexivity | intros x []]. } intros [L _]. destruct w; [left; reflexivity | discriminate].
  - rewrite in_flat_map. split.
    + intros (x & Hx & Hw). apply in_map_iff in Hw. destruct Hw as (v & <- & Hv). apply IHn in Hv. destruct Hv as [L I].
      split; [cbn; lia|]. intros y [<-|Hy]; auto.
    + intros [L I]. destruct w as [|x v]; [discriminate|]. exists x. split; [apply I; left; reflexivity|].
      apply in_map. apply IHn. split; [cbn in L; lia|]. intros. apply I. right. assumption.
Qed.
Lemma nodup_flat : forall A (l : list A) (m : list (list A)), NoDup l -> NoDup m -> NoDup (flat_map (fun x => map (cons x) m) l).
Proof.
  intros A l m D M. induction l as [|x l IH]; cbn; [constructor|]. inversion D as [|? ? Nx Dl]; subst.
  assert (Mx : NoDup (map (cons x) m)). { apply FinFun.Injective_map_NoDup; [|assumption]. intros a b E. injection E. auto. }
  specialize (IH Dl). clear D. revert Mx.
  assert (Dis : forall w, In w (map (cons x) m) -> ~ In w (flat_map (fun x => map (cons x) m) l)).
  { intros w Hw Hf. apply in_map_iff in Hw. destruct Hw as (v & <- & _). apply in_flat_map in Hf.
    destruct Hf as (y & Hy & Hv). apply in_map_iff in Hv. destruct Hv as (u & E & _). injection E as -> _. contradiction. }
  revert Dis. generalize (map (cons x) m). induction l0 as [|w r IHr]; intros Dis Mx; cbn; [assumption|].
  inversion Mx; subst. constructor.
  - rewrite in_app_iff. intros [I|I]; [contradiction | apply (Dis w); [left; reflexivity | assumption]].
  - apply IHr; [|assumption]. intros. apply Dis. right. assumption.
Qed.
Lemma words_nodup : forall A (l : list A) n, NoDup l -> NoDup (words l n).
Proof. intros A l n D. induction n; cbn [words]. { repeat constructor. intros []. } apply nodup_flat; assumption. Qed.

(* If codes of b bits suffice for every labelling of N contexts with C labels, then C^N <= 2^b, whatever the decoder is. *)
Theorem counting : forall (N C b : nat) (decode : list bool -> nat -> nat),
  (forall ys, length ys = N -> (forall y, In y ys -> y < C) ->
     exists code, length code = b /\ forall i, i < N -> decode code i = nth i ys 0) ->
  C ^ N <= 2 ^ b.
Proof.
  intros N C b decode All.
  replace (C ^ N) with (length (words (seq 0 C) N)) by (rewrite words_length, seq_length; reflexivity).
  replace (2 ^ b) with (length (map (fun code => map (decode code) (seq 0 N)) (words [true; false] b)))
    by (rewrite map_length, words_length; reflexivity).
  apply NoDup_incl_length. { apply words_nodup, seq_NoDup. }
  intros ys Hy. apply words_in in Hy. destruct Hy as [L I].
  destruct (All ys L) as (code & Lc & E). { intros y Iy. apply I, in_seq in Iy. lia. }
  apply in_map_iff. exists code. split.
  - apply nth_ext with (d := 0) (d' := 0). { rewrite map_length, seq_length. auto. }
    intros i Hi. rewrite map_length, seq_length in Hi.
    rewrite nth_indep with (d' := decode code 0) by (rewrite map_length, seq_length; assumption).
    rewrite map_nth, seq_nth by assumption. apply E. assumption.
  - apply words_in. split; [assumption|]. intros [|] _; cbn; auto.
Qed.
